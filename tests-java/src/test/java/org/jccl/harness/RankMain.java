package org.jccl.harness;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;

/**
 * The process of one or several ranks. What it reports are lines of its standard output that begin
 * with {@link #MARK}; on its standard input it is asked for its stacks, and ends when that does.
 */
public final class RankMain {
    /** The beginning of a line of the harness's. */
    static final String MARK = "@@jccl ";

    /** The exit status of a process whose parent has gone. */
    private static final int ORPHANED = 98;

    private RankMain() {}

    /**
     * Runs ranks.
     *
     * @param args directory of the board, first rank, ranks of this process, ranks of the cluster,
     *     nodes that the configuration tells apart, class of the scenario, its arguments
     */
    public static void main(String[] args) {
        listen();
        Board board = new Board(Path.of(args[0]));
        int first = Integer.parseInt(args[1]);
        int count = Integer.parseInt(args[2]);
        int nRanks = Integer.parseInt(args[3]);
        int nNodes = Integer.parseInt(args[4]);
        List<String> arguments = List.copyOf(Arrays.asList(args).subList(6, args.length));
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int number = first + i;
            Rank rank =
                    new Rank(
                            number,
                            nRanks,
                            nNodes,
                            arguments,
                            board,
                            text -> report(number, "said", text));
            Scenario scenario = newScenario(args[5]);
            threads.add(thread(number, () -> reportEnd(number, runRank(scenario, rank))));
        }
        threads.forEach(Thread::start);
    }

    static Thread thread(int rank, Runnable body) {
        return Thread.ofPlatform().name("rank-" + rank).daemon(false).unstarted(body);
    }

    /** Runs one rank; answers what it threw. */
    @SuppressWarnings("CatchAndPrintStackTrace")
    static @Nullable Throwable runRank(Scenario scenario, Rank rank) {
        try {
            scenario.run(rank);
            return null;
        } catch (Throwable e) {
            return e;
        }
    }

    static Scenario newScenario(Class<? extends Scenario> type) {
        try {
            return type.getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException(
                    type + " is no public class with a public constructor without parameters", e);
        }
    }

    private static Scenario newScenario(String name) {
        try {
            return newScenario(Class.forName(name).asSubclass(Scenario.class));
        } catch (ClassNotFoundException e) {
            throw new IllegalArgumentException(e);
        }
    }

    private static void reportEnd(int rank, @Nullable Throwable thrown) {
        RankResult end = RankResult.of(rank, thrown, List.of());
        int code = end.result() == null ? -1 : end.result().code();
        report(rank, end.end().name(), String.valueOf(code), end.text(), end.stack());
    }

    private static void report(int rank, String... parts) {
        StringBuilder line = new StringBuilder(MARK).append(rank);
        for (String part : parts) {
            line.append(' ').append(encode(part));
        }
        synchronized (System.out) {
            System.out.println(line);
            System.out.flush();
        }
    }

    static String encode(String text) {
        return "=" + Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }

    static String decode(String text) {
        byte[] bytes = Base64.getDecoder().decode(text.substring(1));
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static void listen() {
        Thread.ofPlatform()
                .name("harness")
                .daemon()
                .start(
                        () -> {
                            try {
                                while (System.in.read() >= 0) {
                                    report(-1, "stacks", Stacks.all());
                                }
                            } catch (IOException e) {
                                System.err.println("harness: standard input failed: " + e);
                            }
                            Runtime.getRuntime().halt(ORPHANED);
                        });
    }
}
