package org.jccl.harness;

import org.jccl.type.NcclResult;
import org.jspecify.annotations.Nullable;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** The test's end of one process of ranks. */
final class RankProcess {
    private static final int KEPT_LINES = 400;
    private static final int STACKS_WITHIN_S = 5;

    private final RunningCluster cluster;
    private final int firstRank;
    private final int endRank;
    private final Process process;
    private final Thread reader;
    private final CountDownLatch stacksCame = new CountDownLatch(1);

    /** Written by the reader, read by the test; guarded by itself. */
    private final Deque<String> output = new ArrayDeque<>();

    /** Written by the reader before it opens stacksCame, read by the test after. */
    private @Nullable String stacks;

    private RankProcess(RunningCluster cluster, int firstRank, int endRank, Process process) {
        this.cluster = cluster;
        this.firstRank = firstRank;
        this.endRank = endRank;
        this.process = process;
        this.reader = Thread.ofPlatform().daemon().name("reader").unstarted(this::read);
    }

    static RankProcess start(
            RunningCluster running,
            Cluster cluster,
            int number,
            Path directory,
            List<String> enter,
            Class<? extends Scenario> scenario,
            List<String> arguments)
            throws IOException {
        int first = number * cluster.ranksPerProcess;
        int end = Math.min(cluster.nRanks, first + cluster.ranksPerProcess);
        List<String> command = new ArrayList<>(enter);
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(
                List.of(
                        "-XX:+UseSerialGC",
                        "-XX:-UsePerfData",
                        "-Xmx768m",
                        "-ea",
                        "--add-modules=jdk.incubator.vector",
                        "--enable-native-access=ALL-UNNAMED"));
        command.addAll(cluster.jvmFlags);
        command.addAll(List.of("-cp", classPath(), RankMain.class.getName()));
        command.add(directory.toString());
        command.add(String.valueOf(first));
        command.add(String.valueOf(end - first));
        command.add(String.valueOf(cluster.nRanks));
        command.add(String.valueOf(cluster.nodesByConfig()));
        command.add(scenario.getName());
        command.addAll(arguments);
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().putAll(cluster.environmentOf(number));
        RankProcess process = new RankProcess(running, first, end, builder.start());
        process.reader.start();
        return process;
    }

    /** Surefire hides the class path in a manifest and says here what it was. */
    private static String classPath() {
        String path = System.getProperty("surefire.test.class.path");
        return path != null ? path : System.getProperty("java.class.path");
    }

    int firstRank() {
        return firstRank;
    }

    long pid() {
        return process.pid();
    }

    void kill() {
        process.destroyForcibly();
    }

    void signal(String name) {
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

    /** Stops the process; returns when the kernel says so, which a busy machine delays. */
    void stop() {
        signal("STOP");
        Path status = Path.of("/proc/" + process.pid() + "/status");
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
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

    boolean awaitExit(long timeoutNs) {
        try {
            if (!process.waitFor(Math.max(0, timeoutNs), TimeUnit.NANOSECONDS)) {
                return false;
            }
            reader.join();
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    String output() {
        synchronized (output) {
            return output.isEmpty()
                    ? ""
                    : "[process of rank " + firstRank + "]\n" + String.join("\n", output) + "\n";
        }
    }

    /** The process's stacks, or why there are none. */
    String stacks() {
        String head = "[process of rank " + firstRank + ", " + state() + "]\n";
        try {
            process.getOutputStream().write('\n');
            process.getOutputStream().flush();
            boolean came = stacksCame.await(STACKS_WITHIN_S, TimeUnit.SECONDS);
            return head + (came ? stacks : "    gave no stacks\n");
        } catch (IOException e) {
            return head + "    gave no stacks: " + e.getMessage() + "\n";
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return head + "    interrupted\n";
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
            keep("harness: cannot read: " + e);
        }
        int status = process.onExit().join().exitValue();
        for (int rank = firstRank; rank < endRank; rank++) {
            cluster.ended(
                    new RankResult(
                            rank,
                            RankResult.End.DIED,
                            null,
                            "exit status " + status,
                            "",
                            cluster.saidBy(rank)));
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
        int rank = Integer.parseInt(words[0]);
        String kind = RankMain.decode(words[1]);
        String first = RankMain.decode(words[2]);
        if (kind.equals("said")) {
            cluster.said(rank, first);
        } else if (kind.equals("stacks")) {
            stacks = first;
            stacksCame.countDown();
        } else {
            int code = Integer.parseInt(first);
            cluster.ended(
                    new RankResult(
                            rank,
                            RankResult.End.valueOf(kind),
                            code < 0 ? null : NcclResult.of(code),
                            RankMain.decode(words[3]),
                            RankMain.decode(words[4]),
                            cluster.saidBy(rank)));
        }
    }

    private void keep(String line) {
        synchronized (output) {
            if (output.size() == KEPT_LINES) {
                output.removeFirst();
            }
            output.addLast(line);
        }
    }
}
