package org.jccl.harness;

import org.jccl.device.UsedDevice;
import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * How many ranks there are and where they run; {@link #run} or {@link #start} starts a scenario on
 * them. Each call of a setter returns a changed copy.
 *
 * <p>Ranks that are threads run inside this JVM, unless they need an environment of their own: then
 * they are the threads of one other process, since variables belong to a process.
 */
public final class Cluster {
    /** Only a hang lasts so long, whatever the machine's host takes from it. */
    private static final Duration DEFAULT_DEADLINE =
            Duration.ofSeconds(
                    Long.parseLong(System.getenv().getOrDefault("JCCL_TEST_DEADLINE", "600")));

    /** Where ranks run. */
    public enum Place {
        /** All ranks are threads of one process. */
        THREADS,
        /** Every rank, or every few ranks, are a process. */
        PROCESSES,
        /** Processes, the first half of them in one network namespace, the others in another. */
        NAMESPACES
    }

    final Place place;
    final int nRanks;
    final int ranksPerProcess;
    final int nNodes;
    final Duration deadline;
    final Map<String, String> environment;
    final Map<Integer, Map<String, String>> environmentOfRank;
    final List<String> jvmFlags;

    /** Whether each process is new and ends by itself. */
    final boolean once;

    /** Namespaces that the processes are in, which other clusters may share; null for none. */
    final @Nullable Namespaces within;

    private Cluster(
            Place place,
            int nRanks,
            int ranksPerProcess,
            int nNodes,
            Duration deadline,
            Map<String, String> environment,
            Map<Integer, Map<String, String>> environmentOfRank,
            List<String> jvmFlags,
            boolean once,
            @Nullable Namespaces within) {
        if (nRanks < 1 || ranksPerProcess < 1 || nNodes < 1) {
            throw new IllegalArgumentException("a cluster has at least one rank, node and process");
        }
        this.place = place;
        this.nRanks = nRanks;
        this.ranksPerProcess = ranksPerProcess;
        this.nNodes = nNodes;
        this.deadline = deadline;
        this.environment = environment;
        this.environmentOfRank = environmentOfRank;
        this.jvmFlags = jvmFlags;
        this.once = once;
        this.within = within;
    }

    private static Cluster of(Place place, int nRanks, int ranksPerProcess) {
        return new Cluster(
                place,
                nRanks,
                ranksPerProcess,
                1,
                DEFAULT_DEADLINE,
                Map.of(),
                Map.of(),
                List.of(),
                false,
                null);
    }

    /** Ranks as threads of one process. */
    public static Cluster threads(int nRanks) {
        return of(Place.THREADS, nRanks, nRanks);
    }

    /** Every rank a process. */
    public static Cluster processes(int nRanks) {
        return of(Place.PROCESSES, nRanks, 1);
    }

    /**
     * Every rank a process, in two network namespaces that a virtual wire joins. Shared memory does
     * not lead from one to the other: each is a node of its own.
     */
    public static Cluster namespaces(int nRanks) {
        return of(Place.NAMESPACES, nRanks, 1);
    }

    /** The same in these namespaces, by processes that other clusters in them may use again. */
    public static Cluster namespaces(int nRanks, NetworkPair wire) {
        return of(Place.NAMESPACES, nRanks, 1).within(wire);
    }

    /** Processes in namespaces that clusters share. */
    public Cluster within(Namespaces namespaces) {
        return new Cluster(
                place,
                nRanks,
                ranksPerProcess,
                nNodes,
                deadline,
                environment,
                environmentOfRank,
                jvmFlags,
                once,
                namespaces);
    }

    /** Several ranks, as threads, in each process. */
    public Cluster ranksPerProcess(int count) {
        return new Cluster(
                place,
                nRanks,
                count,
                nNodes,
                deadline,
                environment,
                environmentOfRank,
                jvmFlags,
                once,
                within);
    }

    /**
     * Ranks on this many simulated nodes, equally many consecutive ranks on each: processes by
     * NCCL_HOSTID, threads by the configuration of their communicators.
     */
    public Cluster nodes(int count) {
        return new Cluster(
                place,
                nRanks,
                ranksPerProcess,
                count,
                deadline,
                environment,
                environmentOfRank,
                jvmFlags,
                once,
                within);
    }

    /** How long anything in a test may last: JCCL_TEST_DEADLINE seconds. */
    static Duration defaultDeadline() {
        return DEFAULT_DEADLINE;
    }

    /** The time after which the ranks are ended and the run has failed. */
    public Cluster deadline(int seconds) {
        return new Cluster(
                place,
                nRanks,
                ranksPerProcess,
                nNodes,
                Duration.ofSeconds(seconds),
                environment,
                environmentOfRank,
                jvmFlags,
                once,
                within);
    }

    /** A variable that every rank's process sees. */
    public Cluster environment(String name, String value) {
        Map<String, String> more = new LinkedHashMap<>(environment);
        more.put(name, value);
        return new Cluster(
                place,
                nRanks,
                ranksPerProcess,
                nNodes,
                deadline,
                more,
                environmentOfRank,
                jvmFlags,
                once,
                within);
    }

    /** Communicators are on a device of each process, unless their configuration says. */
    public Cluster onDevices() {
        return environment("JCCL_DEVICE", UsedDevice.KIND);
    }

    /** A variable that the process of this rank sees. */
    public Cluster environment(int rank, String name, String value) {
        Map<Integer, Map<String, String>> more = new LinkedHashMap<>(environmentOfRank);
        Map<String, String> ofRank = new LinkedHashMap<>(more.getOrDefault(rank, Map.of()));
        ofRank.put(name, value);
        more.put(rank, ofRank);
        return new Cluster(
                place,
                nRanks,
                ranksPerProcess,
                nNodes,
                deadline,
                environment,
                more,
                jvmFlags,
                once,
                within);
    }

    /** A flag of the JVM of every rank that is a process. */
    public Cluster jvmFlag(String flag) {
        List<String> more = new ArrayList<>(jvmFlags);
        more.add(flag);
        return new Cluster(
                place,
                nRanks,
                ranksPerProcess,
                nNodes,
                deadline,
                environment,
                environmentOfRank,
                more,
                once,
                within);
    }

    /**
     * Processes compile hot code to its last stage, as programs do. Other processes stop at the
     * first stage, since short processes spend most of their time on compiling.
     */
    public Cluster optimized() {
        return place == Place.THREADS ? this : jvmFlag("-XX:TieredStopAtLevel=4");
    }

    /** Every rank's process is a new one and must end by itself after its ranks, as a program. */
    public Cluster once() {
        return new Cluster(
                place,
                nRanks,
                ranksPerProcess,
                nNodes,
                deadline,
                environment,
                environmentOfRank,
                jvmFlags,
                true,
                within);
    }

    /** Whether the ranks run inside this JVM. */
    boolean insideThisJvm() {
        return place == Place.THREADS
                && environment.isEmpty()
                && environmentOfRank.isEmpty()
                && jvmFlags.isEmpty();
    }

    int nProcesses() {
        return (nRanks + ranksPerProcess - 1) / ranksPerProcess;
    }

    /** The network namespace, 0 or 1, of a process. */
    int namespaceOf(int process) {
        return process * 2 / Math.max(2, nProcesses());
    }

    /** How many nodes the communicators' configuration must tell apart, in place of a variable. */
    int nodesByConfig() {
        return place == Place.THREADS ? nNodes : 1;
    }

    static String nodeOf(int rank, int nRanks, int nNodes) {
        return "node" + rank * nNodes / nRanks;
    }

    /** The variables of a process. */
    Map<String, String> environmentOf(int process) {
        Map<String, String> all = new LinkedHashMap<>(environment);
        int first = process * ranksPerProcess;
        if (nNodes > 1 && place != Place.THREADS) {
            all.put("NCCL_HOSTID", nodeOf(first, nRanks, nNodes));
        } else if (place == Place.NAMESPACES && within == null) {
            all.put("NCCL_HOSTID", "namespace" + namespaceOf(process));
        }
        int end = Math.min(nRanks, first + ranksPerProcess);
        for (int rank = first; rank < end; rank++) {
            all.putAll(environmentOfRank.getOrDefault(rank, Map.of()));
        }
        return all;
    }

    /** Starts the scenario; the caller closes what it gets. */
    public RunningCluster start(Class<? extends Scenario> scenario, Object... arguments) {
        List<String> texts = new ArrayList<>();
        for (Object argument : arguments) {
            texts.add(argument.toString());
        }
        return RunningCluster.start(this, scenario, texts);
    }

    /** Runs the scenario to its end, or fails with every rank's stacks at the deadline. */
    public Outcome run(Class<? extends Scenario> scenario, Object... arguments) {
        try (RunningCluster running = start(scenario, arguments)) {
            return running.await();
        }
    }

    /**
     * Runs a scenario that is written in place, so only for ranks that are threads of this JVM.
     *
     * @throws IllegalStateException if this cluster's ranks are processes
     */
    public Outcome runHere(Scenario scenario) {
        try (RunningCluster running = RunningCluster.startHere(this, scenario)) {
            return running.await();
        }
    }

    @Override
    public String toString() {
        return nRanks
                + " ranks as "
                + place
                + (ranksPerProcess > 1 && place != Place.THREADS
                        ? " with " + ranksPerProcess + " threads each"
                        : "")
                + (nNodes > 1 ? " on " + nNodes + " nodes" : "")
                + (environment.isEmpty() ? "" : " " + environment);
    }
}
