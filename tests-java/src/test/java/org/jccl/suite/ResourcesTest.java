package org.jccl.suite;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.harness.Cluster;
import org.jccl.harness.Footprint;
import org.jccl.harness.Rank;
import org.jccl.harness.RankResult;
import org.jccl.harness.Scenario;
import org.jccl.reduce.Warmup;
import org.jccl.type.DataType;
import org.jccl.type.UniqueId;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/** Communicators that come and go leave nothing behind. */
final class ResourcesTest {
    private static final long RESIDENT_KB = 4 << 10;

    /** In a short test compilers and class loading have not come to rest. */
    private static final long RESIDENT_KB_SHORT = 24 << 10;

    /** Ids that have been used are remembered, 4096 of them: not yet all after the warm-up. */
    private static final long HEAP_KB = 6 << 10;

    private static final int KERNELS_MS = 60_000;

    /**
     * The heap has its full size from the start, and malloc gives back the memory that compilers
     * had for a moment. So neither of them is what grows.
     */
    private static Cluster fixed(Cluster cluster) {
        return cluster.environment("MALLOC_ARENA_MAX", "1")
                .jvmFlag("-Xms96m")
                .jvmFlag("-Xmx96m")
                .jvmFlag("-XX:+AlwaysPreTouch")
                .jvmFlag("-XX:TrimNativeHeapInterval=500");
    }

    /** With the ranks of each process, of which one measures. */
    static List<Arguments> clusters() {
        return List.of(
                Arguments.of(fixed(Cluster.processes(2)), 1),
                Arguments.of(fixed(Cluster.processes(2)).environment("NCCL_SHM_DISABLE", "1"), 1),
                Arguments.of(fixed(Cluster.processes(2).ranksPerProcess(2)), 2));
    }

    /** Life after life, each in another way, and what they leave in the process. */
    public static final class Lives implements Scenario {
        private Rank rank;
        private Communicator control;

        @Override
        public void run(Rank own) throws InterruptedException {
            rank = own;
            boolean measures = own.number() % own.intArgument(2) == 0;
            control = own.init("control", Config.DEFAULT);
            live(0, own.intArgument(0));
            // Vector kernels, with their classes and code, come when much has been reduced.
            Sums.require(Warmup.await(KERNELS_MS), "kernels are not warm");
            Footprint before = measures ? Footprint.now() : null;
            live(own.intArgument(0), own.intArgument(1));
            int residentKb = own.intArgument(3);
            Footprint after = measures ? Footprint.settled(before, residentKb) : null;
            Sums.barrier(control);
            control.close();
            if (measures) {
                report(before, after, residentKb);
            }
        }

        private void report(Footprint before, Footprint after, int residentKb) {
            long resident = after.residentKb() - before.residentKb();
            long heap = after.heapKb() - before.heapKb();
            String text = "resident +" + resident + " KiB, heap +" + heap + " KiB";
            rank.say(text);
            List<String> growth = after.growthSince(before);
            Sums.require(growth.isEmpty(), String.join("\n", growth));
            Sums.require(resident < residentKb, text);
            Sums.require(heap < HEAP_KB, text);
        }

        private void live(int first, int lives) {
            for (int i = first; i < first + lives; i++) {
                live(i);
            }
            Sums.barrier(control);
        }

        private void live(int i) {
            Config config = Config.DEFAULT.withBlocking(i % 2 == 0);
            if (rank.hostId() != null) {
                config = config.withHostId(rank.hostId());
            }
            Communicator parent =
                    Communicator.initRank(rank.nRanks(), nextId(), rank.number(), config);
            parent.awaitReady(InitTest.SOON);
            work(parent, i / 2 % 4);
            int color = i / 8 % 3;
            Communicator child = parent.split(color == 2 ? rank.number() : 0, -rank.number());
            child.awaitReady(InitTest.SOON);
            parent.awaitReady(InitTest.SOON);
            work(child, (i / 2 + i / 8) % 4);
            // A rank that aborts must not be ahead of one that still works.
            Sums.barrier(control);
            boolean childFirst = i / 4 % 2 == 0;
            end(childFirst ? child : parent, i % 5);
            end(childFirst ? parent : child, i % 5);
        }

        private UniqueId nextId() {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment id = arena.allocate(UniqueId.BYTES, 8);
                if (rank.number() == 0) {
                    id.copyFrom(MemorySegment.ofArray(Communicator.uniqueId().toBytes()));
                }
                control.broadcast(id, id, UniqueId.BYTES, DataType.UINT8, 0);
                return new UniqueId(id.toArray(java.lang.foreign.ValueLayout.JAVA_BYTE));
            }
        }

        /** Operations that use a part of the base area, all of it, the ring, or the FIFOs. */
        private static void work(Communicator comm, int kind) {
            switch (kind) {
                case 1 -> NonBlocking.allReduce(comm, 1000);
                case 2 -> NonBlocking.allReduce(comm, 100_000);
                case 3 -> exchange(comm);
                default -> {
                    return;
                }
            }
        }

        private static void exchange(Communicator comm) {
            int next = (comm.rank() + 1) % comm.count();
            int previous = (comm.rank() + comm.count() - 1) % comm.count();
            try (Arena arena = Arena.ofShared()) {
                MemorySegment out = Sums.filled(arena, comm.rank(), 20_000);
                MemorySegment in = arena.allocate(out.byteSize(), 8);
                org.jccl.Group.run(
                        () -> {
                            comm.send(out, 20_000, DataType.INT32, next);
                            comm.recv(in, 20_000, DataType.INT32, previous);
                        });
                comm.awaitReady(InitTest.SOON);
                Sums.require(
                        in.mismatch(Sums.filled(arena, previous, 20_000)) < 0, "wrong message");
            }
        }

        private static void end(Communicator comm, int how) {
            switch (how) {
                case 0, 1 -> comm.close();
                case 2 -> {
                    comm.finalizeCommunicator();
                    comm.awaitReady(InitTest.SOON);
                    comm.close();
                }
                default -> comm.abort();
            }
        }
    }

    /** Opens communicators that stay open together, and says how many threads more there are. */
    public static final class Many implements Scenario {
        @Override
        public void run(Rank rank) {
            List<Communicator> comms = new ArrayList<>();
            open(rank, comms, "first", 1);
            Footprint before = Footprint.now();
            open(rank, comms, "more", rank.intArgument(0));
            List<String> threads =
                    Footprint.now().growthSince(before).stream()
                            .filter(line -> line.startsWith("thread"))
                            .toList();
            Sums.barrier(comms.getFirst());
            GroupTest.closeAll(comms);
            Sums.require(threads.isEmpty(), String.join("\n", threads));
        }

        private static void open(Rank rank, List<Communicator> comms, String name, int many) {
            for (int i = 0; i < many; i++) {
                Communicator comm =
                        i % 2 == 0
                                ? rank.init(name + i, Config.DEFAULT)
                                : comms.getFirst().split(0, rank.number(), InitTest.NON_BLOCKING);
                comm.awaitReady(InitTest.SOON);
                NonBlocking.allReduce(comm, 10);
                comms.add(comm);
            }
        }
    }

    private static void run(
            Cluster cluster, int perProcess, int warmUp, int lives, long residentKb) {
        for (RankResult result :
                cluster.run(Lives.class, warmUp, lives, perProcess, residentKb)
                        .assertAllSucceeded()
                        .ranks()) {
            System.out.println(cluster + ": " + lives + " lives: " + result.said());
        }
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void livesLeaveNoDescriptorThreadOrMapping(Cluster cluster, int perProcess) {
        // After so many lives their kinds begin anew.
        run(cluster, perProcess, 40, 120, RESIDENT_KB_SHORT);
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void manyCommunicatorsAtOnceNeedNoThreadMore(Cluster cluster, int perProcess) {
        cluster.run(Many.class, 60 / perProcess).assertAllSucceeded();
    }

    @Tag("stress")
    @ParameterizedTest
    @MethodSource("clusters")
    void twoHundredCommunicatorsAtOnceNeedNoThreadMore(Cluster cluster, int perProcess) {
        cluster.run(Many.class, 200 / perProcess).assertAllSucceeded();
    }

    @Tag("stress")
    @ParameterizedTest
    @MethodSource("clusters")
    void tenThousandLivesLeaveNothing(Cluster cluster, int perProcess) {
        run(cluster.optimized().deadline(3600), perProcess, 1000, 10_000, RESIDENT_KB);
    }
}
