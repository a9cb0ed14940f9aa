package org.jccl.harness;

import org.jccl.type.NcclResult;
import org.jspecify.annotations.Nullable;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/**
 * The test's end of one process of ranks. A process that has run its ranks to their end can run
 * those of another cluster with the same environment, see {@link Processes}.
 *
 * <p>Its state is guarded by its monitor: the reader writes it, tests read it. Nobody who holds it
 * calls the cluster.
 */
final class RankProcess {
    private static final int KEPT_LINES = 400;
    private static final int STACKS_WITHIN_S = 30;
    private static final long PAGE_BYTES = 4096;

    private final String key;
    private final Process process;
    private final Thread reader;
    private final Deque<String> output = new ArrayDeque<>();

    private @Nullable RunningCluster cluster;
    private int job;
    private volatile int firstRank;
    private volatile int endRank;
    private boolean idle = true;
    private boolean ended;
    private boolean tainted;
    private @Nullable String stacks;

    private RankProcess(String key, Process process) {
        this.key = key;
        this.process = process;
        this.reader = Thread.ofPlatform().daemon().name("reader").unstarted(this::read);
    }

    /** A new process that waits for work. */
    static RankProcess start(
            String key, List<String> enter, List<String> flags, Map<String, String> environment)
            throws IOException {
        List<String> all = new ArrayList<>(ClassArchive.flags());
        all.addAll(flags);
        List<String> command = new ArrayList<>(enter);
        command.addAll(command(all));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().putAll(environment);
        RankProcess process = new RankProcess(key, builder.start());
        process.reader.start();
        return process;
    }

    /** The command of a process of ranks, with these flags more. */
    static List<String> command(List<String> flags) {
        List<String> command = new ArrayList<>(java());
        command.addAll(List.of("-XX:-UsePerfData", "-XX:TieredStopAtLevel=1"));
        command.addAll(List.of("-Xmx768m", "-ea"));
        command.addAll(flags);
        command.addAll(List.of("-cp", classPath(), RankMain.class.getName()));
        return command;
    }

    /** The program and what every JVM is told that shares an archive of classes. */
    static List<String> java() {
        return List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "--add-modules=jdk.incubator.vector",
                "--enable-native-access=ALL-UNNAMED");
    }

    /** Jars come first: an archive has the classes of a beginning of the path. */
    private static String classPath() {
        List<String> path = new ArrayList<>(jars());
        parts().filter(part -> !path.contains(part)).forEach(path::add);
        return String.join(File.pathSeparator, path);
    }

    /** The jars of the class path. */
    static List<String> jars() {
        return parts().filter(part -> part.endsWith(".jar")).toList();
    }

    /** Surefire hides the class path in a manifest and says here what it was. */
    private static Stream<String> parts() {
        String path = System.getProperty("surefire.test.class.path");
        String all = path != null ? path : System.getProperty("java.class.path");
        return Arrays.stream(all.split(File.pathSeparator)).distinct();
    }

    /** Makes the process run ranks of a cluster. */
    synchronized void run(RunningCluster running, RankMain.Job work) throws IOException {
        cluster = running;
        job = work.number();
        firstRank = work.first();
        endRank = work.first() + work.count();
        idle = false;
        output.clear();
        tell(work.line());
    }

    private void tell(String line) throws IOException {
        process.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
        process.getOutputStream().flush();
    }

    /** The environment and flags with which it runs. */
    String key() {
        return key;
    }

    /** Whether it can run other ranks: it has no work and nobody has sent it a signal. */
    synchronized boolean reusable() {
        return idle && !ended && !tainted;
    }

    /** How much memory it takes; 0 if it has ended. */
    long residentBytes() {
        try {
            String pages = Files.readString(Path.of("/proc/" + pid() + "/statm")).split(" ")[1];
            return Long.parseLong(pages) * PAGE_BYTES;
        } catch (IOException ended) {
            return 0;
        }
    }

    int firstRank() {
        return firstRank;
    }

    long pid() {
        return process.pid();
    }

    synchronized void kill() {
        tainted = true;
        process.destroyForcibly();
    }

    void signal(String name) {
        synchronized (this) {
            tainted = true;
        }
        try {
            Process kill = new ProcessBuilder("kill", "-" + name, "" + process.pid()).start();
            if (kill.waitFor() != 0) {
                throw new AssertionError("kill -" + name + " failed: process has ended");
            }
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    /** Lets the process continue; afterwards it is as good as before. */
    void cont() {
        signal("CONT");
        synchronized (this) {
            tainted = false;
        }
    }

    /** Whether a signal has stopped the process. */
    boolean stopped() {
        return state().contains("T (stopped)");
    }

    /** Stops the process; returns when the kernel says so, which a busy machine delays. */
    void stop() {
        signal("STOP");
        Path status = Path.of("/proc/" + process.pid() + "/status");
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        try {
            while (!Files.readString(status).contains("T (stopped)")) {
                if (System.nanoTime() > end) {
                    throw new AssertionError("the process does not stop");
                }
                Thread.sleep(1);
            }
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    /** Waits until the process has nothing to do, or has ended; whether that happened in time. */
    synchronized boolean awaitIdle(long timeoutNs) {
        return await(() -> idle || ended, timeoutNs);
    }

    synchronized boolean awaitExit(long timeoutNs) {
        return await(() -> ended, timeoutNs);
    }

    private boolean await(BooleanSupplier condition, long timeoutNs) {
        long end = System.nanoTime() + timeoutNs;
        try {
            while (!condition.getAsBoolean()) {
                long leftMs = (end - System.nanoTime()) / 1_000_000;
                if (leftMs <= 0) {
                    return false;
                }
                wait(leftMs);
            }
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    synchronized String output() {
        return output.isEmpty()
                ? ""
                : "[process of rank " + firstRank + "]\n" + String.join("\n", output) + "\n";
    }

    /** The process's stacks, or why there are none. */
    synchronized String stacks() {
        String head = "[process of rank " + firstRank + ", " + state() + "]\n";
        try {
            stacks = null;
            tell(RankMain.ASK_STACKS);
            boolean came = await(() -> stacks != null, TimeUnit.SECONDS.toNanos(STACKS_WITHIN_S));
            return head + (came ? stacks : "    gave no stacks\n");
        } catch (IOException e) {
            return head + "    gave no stacks: " + e.getMessage() + "\n";
        }
    }

    private String state() {
        try {
            for (String line : Files.readAllLines(Path.of("/proc/" + pid() + "/status"))) {
                if (line.startsWith("State:")) {
                    return line;
                }
            }
            return "pid " + pid();
        } catch (IOException e) {
            return "ended";
        }
    }

    private void read() {
        try (BufferedReader lines =
                new BufferedReader(
                        new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            String line = lines.readLine();
            while (line != null) {
                take(line);
                line = lines.readLine();
            }
        } catch (IOException e) {
            take("harness: cannot read: " + e);
        }
        reportDead(process.onExit().join().exitValue());
    }

    private void reportDead(int status) {
        RunningCluster told;
        synchronized (this) {
            told = idle ? null : cluster;
            ended = true;
            notifyAll();
        }
        for (int rank = firstRank; told != null && rank < endRank; rank++) {
            told.ended(
                    new RankResult(
                            rank,
                            RankResult.End.DIED,
                            null,
                            "exit status " + status,
                            "",
                            told.saidBy(rank)));
        }
    }

    private void take(String line) {
        int at = line.indexOf(RankMain.MARK);
        if (at < 0) {
            keep(line);
            return;
        }
        if (at > 0) {
            keep(line.substring(0, at));
        }
        String[] words = line.substring(at + RankMain.MARK.length()).split(" ", -1);
        String kind = RankMain.decode(words[1]);
        String first = RankMain.decode(words[2]);
        if (kind.equals("stacks") || kind.equals("idle")) {
            synchronized (this) {
                stacks = kind.equals("stacks") ? first : stacks;
                idle |= kind.equals("idle") && Integer.parseInt(first) == job;
                notifyAll();
            }
        } else {
            reportRank(Integer.parseInt(words[0]), kind, first, words);
        }
    }

    /**
     * Called outside the monitor: a thread that holds the cluster's monitor may wait for this one.
     */
    private void reportRank(int rank, String kind, String first, String[] words) {
        RunningCluster told;
        synchronized (this) {
            told = cluster;
        }
        if (told == null) {
            return;
        }
        if (kind.equals("said")) {
            told.said(rank, first);
            return;
        }
        int code = Integer.parseInt(first);
        told.ended(
                new RankResult(
                        rank,
                        RankResult.End.valueOf(kind),
                        code < 0 ? null : NcclResult.of(code),
                        RankMain.decode(words[3]),
                        RankMain.decode(words[4]),
                        told.saidBy(rank)));
    }

    private synchronized void keep(String line) {
        if (output.size() == KEPT_LINES) {
            output.removeFirst();
        }
        output.addLast(line);
    }
}
