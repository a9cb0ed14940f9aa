package org.jccl.harness;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.jspecify.annotations.Nullable;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.StringJoiner;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * A process that runs ranks, cluster after cluster. It reports by lines of its standard output that
 * begin with {@link #MARK}. It reads jobs, and requests for its stacks, from its standard input,
 * and ends when that ends.
 */
public final class RankMain {
    /** The beginning of a line of the harness's. */
    static final String MARK = "@@jccl ";

    /** The line that asks for the stacks. */
    static final String ASK_STACKS = "stacks";

    /** The exit status of a process whose parent has gone. */
    private static final int ORPHANED = 98;

    private static final BlockingQueue<Job> JOBS = new LinkedBlockingQueue<>();

    private RankMain() {}

    /**
     * The ranks of one cluster that a process runs.
     *
     * @param number to match a report of its end
     * @param last whether the process then ends by itself, as a program would
     * @param board directory of the cluster's notes
     * @param first the first rank
     * @param count ranks of this process
     * @param nRanks ranks of the cluster
     * @param nodes nodes that the configuration tells apart
     */
    record Job(
            int number,
            boolean last,
            String board,
            int first,
            int count,
            int nRanks,
            int nodes,
            String scenario,
            List<String> arguments) {
        String line() {
            StringJoiner line = new StringJoiner(" ");
            for (Object part : List.of(number, last, board, first, count, nRanks, nodes)) {
                line.add(encode(part.toString()));
            }
            line.add(encode(scenario));
            arguments.forEach(argument -> line.add(encode(argument)));
            return line.toString();
        }

        static Job parse(String line) {
            List<String> parts = Arrays.stream(line.split(" ")).map(RankMain::decode).toList();
            return new Job(
                    Integer.parseInt(parts.get(0)),
                    Boolean.parseBoolean(parts.get(1)),
                    parts.get(2),
                    Integer.parseInt(parts.get(3)),
                    Integer.parseInt(parts.get(4)),
                    Integer.parseInt(parts.get(5)),
                    Integer.parseInt(parts.get(6)),
                    parts.get(7),
                    parts.subList(8, parts.size()));
        }

        void run() throws InterruptedException {
            Board notes = new Board(Path.of(board));
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                int rank = first + i;
                Rank context =
                        new Rank(
                                rank,
                                nRanks,
                                nodes,
                                arguments,
                                notes,
                                text -> report(rank, "said", text));
                Scenario run = newScenario(scenario);
                threads.add(thread(rank, () -> reportEnd(rank, runRank(run, context))));
            }
            threads.forEach(Thread::start);
            for (Thread thread : threads) {
                thread.join();
            }
        }
    }

    /** Runs jobs. */
    public static void main(String[] args) throws InterruptedException {
        Thread.ofPlatform().name("harness").daemon().start(RankMain::listen);
        while (true) {
            Job job = JOBS.take();
            job.run();
            if (job.last()) {
                return;
            }
            report(-1, "idle", String.valueOf(job.number()));
        }
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
        return "=" + Base64.getEncoder().encodeToString(text.getBytes(UTF_8));
    }

    static String decode(String text) {
        byte[] bytes = Base64.getDecoder().decode(text.substring(1));
        return new String(bytes, UTF_8);
    }

    private static void listen() {
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.equals(ASK_STACKS)) {
                    report(-1, "stacks", Stacks.all());
                } else {
                    JOBS.add(Job.parse(line));
                }
            }
        } catch (IOException | RuntimeException e) {
            // A harness that is killed may leave half a line.
            System.err.println("harness: standard input failed: " + e);
        } finally {
            Runtime.getRuntime().halt(ORPHANED);
        }
    }
}
