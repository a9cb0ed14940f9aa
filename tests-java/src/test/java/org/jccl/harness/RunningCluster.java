package org.jccl.harness;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/**
 * A scenario on its way. Closing it ends what still runs and removes the cluster's directory.
 *
 * <p>All state is guarded by this object's monitor: the threads that read the ranks' reports write
 * it, the test reads it.
 */
public final class RunningCluster implements AutoCloseable {
    private static final AtomicInteger JOBS = new AtomicInteger();
    private static final long IDLE_WITHIN_NS = 20_000_000_000L;

    private final Cluster cluster;
    private final Path directory;
    private final Board board;
    private long deadlineNs;
    private final List<RankProcess> processes = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();
    private final @Nullable RankResult[] results;
    private final long[] endsNs;
    private final List<List<String>> said = new ArrayList<>();
    private @Nullable NetworkPair network;

    private RunningCluster(Cluster cluster) {
        this.cluster = cluster;
        this.results = new RankResult[cluster.nRanks];
        this.endsNs = new long[cluster.nRanks];
        this.deadlineNs = System.nanoTime() + cluster.deadline.toNanos();
        for (int rank = 0; rank < cluster.nRanks; rank++) {
            said.add(new ArrayList<>());
        }
        try {
            this.directory = Files.createTempDirectory("jccl-cluster");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        this.board = new Board(directory);
    }

    static RunningCluster start(
            Cluster cluster, Class<? extends Scenario> scenario, List<String> arguments) {
        RunningCluster running = new RunningCluster(cluster);
        try {
            if (cluster.insideThisJvm()) {
                running.startThreads(() -> RankMain.newScenario(scenario), arguments);
            } else {
                running.startProcesses(scenario, arguments);
            }
            return running;
        } catch (RuntimeException | IOException | Error e) {
            running.close();
            throw e instanceof IOException io ? new UncheckedIOException(io) : rethrow(e);
        }
    }

    static RunningCluster startHere(Cluster cluster, Scenario scenario) {
        if (!cluster.insideThisJvm()) {
            throw new IllegalStateException("a process finds a scenario by its class: use run");
        }
        RunningCluster running = new RunningCluster(cluster);
        running.startThreads(() -> scenario, List.of());
        return running;
    }

    private static RuntimeException rethrow(Throwable e) {
        if (e instanceof Error error) {
            throw error;
        }
        return (RuntimeException) e;
    }

    private void startThreads(
            java.util.function.Supplier<Scenario> scenarios, List<String> arguments) {
        for (int rank = 0; rank < cluster.nRanks; rank++) {
            int number = rank;
            Rank context =
                    new Rank(
                            number,
                            cluster.nRanks,
                            cluster.nNodes,
                            arguments,
                            board,
                            text -> said(number, text));
            Scenario scenario = scenarios.get();
            threads.add(
                    RankMain.thread(
                            number,
                            () -> {
                                Throwable thrown = RankMain.runRank(scenario, context);
                                List<String> words = saidBy(number);
                                ended(RankResult.of(number, thrown, words));
                            }));
        }
        threads.forEach(Thread::start);
    }

    private void startProcesses(Class<? extends Scenario> scenario, List<String> arguments)
            throws IOException {
        Namespaces lent = cluster.within;
        if (cluster.place == Cluster.Place.NAMESPACES && lent == null) {
            network = NetworkPair.open();
        }
        Namespaces within = lent == null ? network : lent;
        for (int number = 0; number < cluster.nProcesses(); number++) {
            Map<String, String> environment = cluster.environmentOf(number);
            boolean once = cluster.once || network != null;
            List<String> enter =
                    within == null ? List.of() : within.enter(cluster.namespaceOf(number));
            RankProcess process =
                    once
                            ? RankProcess.start("", enter, cluster.jvmFlags, environment)
                            : Processes.lend(enter, cluster.jvmFlags, environment);
            processes.add(process);
            int first = number * cluster.ranksPerProcess;
            process.run(
                    this,
                    new RankMain.Job(
                            JOBS.incrementAndGet(),
                            once,
                            directory.toString(),
                            first,
                            Math.min(cluster.ranksPerProcess, cluster.nRanks - first),
                            cluster.nRanks,
                            cluster.nodesByConfig(),
                            scenario.getName(),
                            arguments));
        }
    }

    // -- what the ranks report

    synchronized void said(int rank, String text) {
        said.get(rank).add(text);
        notifyAll();
    }

    synchronized List<String> saidBy(int rank) {
        return List.copyOf(said.get(rank));
    }

    synchronized void ended(RankResult result) {
        if (results[result.rank()] == null) {
            results[result.rank()] = result;
            endsNs[result.rank()] = System.nanoTime();
            notifyAll();
        }
    }

    // -- what the test does

    /** Waits until this rank has said this. */
    public synchronized void awaitSaid(int rank, String text) {
        while (!said.get(rank).contains(text)) {
            if (results[rank] != null) {
                throw new AssertionError(
                        "rank "
                                + rank
                                + " ended before it said \""
                                + text
                                + "\": "
                                + results[rank]
                                + "\n"
                                + output());
            }
            waitForNews("rank " + rank + " to say \"" + text + '"');
        }
    }

    /** Waits until every rank has said this. */
    public void awaitAllSaid(String text) {
        for (int rank = 0; rank < cluster.nRanks; rank++) {
            awaitSaid(rank, text);
        }
    }

    /** Waits for the end of one rank. */
    public synchronized RankResult awaitEnd(int rank) {
        while (true) {
            RankResult result = results[rank];
            if (result != null) {
                return result;
            }
            waitForNews("the end of rank " + rank);
        }
    }

    /** Waits for the end of every rank; a process that serves once must then end by itself. */
    public Outcome await() {
        List<RankResult> ends = new ArrayList<>();
        for (int rank = 0; rank < cluster.nRanks; rank++) {
            ends.add(awaitEnd(rank));
        }
        for (RankProcess process : processes) {
            if (!process.awaitIdle(leftNs())) {
                throw late("the exit of the process of rank " + process.firstRank());
            }
        }
        return new Outcome(ends, output());
    }

    /** Sets the deadline: these seconds from now. */
    public synchronized void deadlineIn(int seconds) {
        deadlineNs = System.nanoTime() + seconds * 1_000_000_000L;
    }

    /** Puts a note that every rank can await. */
    public void post(String name, String text) {
        board.post(name, text.getBytes(StandardCharsets.UTF_8));
    }

    /** Kills the process of this rank with SIGKILL. */
    public void kill(int rank) {
        process(rank).kill();
    }

    /** Stops all processes, then kills them, so that none learns of another's death. */
    public void killAll() {
        processes.forEach(RankProcess::stop);
        processes.forEach(RankProcess::kill);
    }

    /** Stops the process of this rank with SIGSTOP. */
    public void stop(int rank) {
        process(rank).stop();
    }

    /** Lets the process of this rank continue. */
    public void cont(int rank) {
        process(rank).cont();
    }

    /** Whether the process of this rank is stopped, by whomever. */
    public boolean stopped(int rank) {
        return process(rank).stopped();
    }

    /** How this rank has ended, or null. */
    public synchronized @Nullable RankResult endOf(int rank) {
        return results[rank];
    }

    /** When this rank ended, as System.nanoTime. */
    public synchronized long endedNs(int rank) {
        return endsNs[rank];
    }

    /** The process id of this rank. */
    public long pid(int rank) {
        return process(rank).pid();
    }

    private RankProcess process(int rank) {
        if (processes.isEmpty()) {
            throw new UnsupportedOperationException("rank " + rank + " is a thread of this JVM");
        }
        return processes.get(rank / cluster.ranksPerProcess);
    }

    private synchronized boolean allEnded(RankProcess process) {
        int first = process.firstRank();
        int end = Math.min(cluster.nRanks, first + cluster.ranksPerProcess);
        return Arrays.stream(results, first, end)
                .allMatch(result -> result != null && result.end() != RankResult.End.DIED);
    }

    /** The last part of what the processes printed. */
    public String output() {
        StringBuilder text = new StringBuilder();
        processes.forEach(process -> text.append(process.output()));
        return text.toString();
    }

    private synchronized long leftNs() {
        return deadlineNs - System.nanoTime();
    }

    /** Waits once; every caller looks again, in a loop, at what it waits for. */
    @SuppressWarnings("WaitNotInLoop")
    private synchronized void waitForNews(String what) {
        long leftMs = leftNs() / 1_000_000;
        if (leftMs <= 0) {
            throw late(what);
        }
        try {
            wait(leftMs);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted while waiting for " + what, e);
        }
    }

    private AssertionError late(String what) {
        StringBuilder text = new StringBuilder();
        text.append("no ").append(what).append(" within ").append(cluster.deadline);
        text.append(" (").append(cluster).append(")\n");
        for (int rank = 0; rank < cluster.nRanks; rank++) {
            RankResult result = results[rank];
            text.append(result == null ? "rank " + rank + " has not ended" : result.toString());
            text.append(", said ").append(said.get(rank)).append('\n');
        }
        if (processes.isEmpty()) {
            text.append("stacks:\n").append(Stacks.all());
        }
        processes.forEach(process -> text.append(process.stacks()));
        return new AssertionError(text.append(output()).toString());
    }

    @Override
    public void close() {
        for (RankProcess process : processes) {
            if (allEnded(process)) {
                process.awaitIdle(IDLE_WITHIN_NS);
            }
            if (process.reusable()) {
                Processes.giveBack(process);
                continue;
            }
            process.kill();
            if (!process.awaitExit(60_000_000_000L)) {
                throw new AssertionError("process " + process.pid() + " survives SIGKILL");
            }
        }
        threads.forEach(Thread::interrupt);
        if (network != null) {
            network.close();
        }
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
