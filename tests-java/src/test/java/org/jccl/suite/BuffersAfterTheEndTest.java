package org.jccl.suite;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.Group;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.RedOp;
import org.jccl.type.UniqueId;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/**
 * Once an operation has been ended by an abort, an interrupt, a time limit or a peer's end, and the
 * caller knows, nobody touches its buffers: they may be freed at once.
 */
final class BuffersAfterTheEndTest {
    private static final int SHORT = 16;
    private static final int LONG = 500;

    /** Ways to end the operations of a rank; the other ranks learn of it. */
    private enum Ending {
        ABORT_BY_ANOTHER_THREAD,
        INTERRUPT,
        TIME_LIMIT
    }

    /** The operations of a moment. */
    private enum Kind {
        ALL_REDUCE,
        IN_PLACE,
        BROADCAST,
        ALL_GATHER,
        REDUCE_SCATTER,
        RING_OF_MESSAGES,
        MIXED_GROUP
    }

    /** Moment after moment, each on a communicator of its own. */
    public static final class Moments implements Scenario {
        @Override
        public void run(Rank rank) throws Exception {
            Communicator control = rank.init("control", Config.DEFAULT);
            for (int i = 0; i < rank.intArgument(0); i++) {
                long seed = Long.parseLong(rank.argument(1)) * 1000 + i;
                new Moment(rank, control, seed).run();
            }
            Sums.barrier(control);
            control.close();
        }
    }

    private static final class Moment {
        private static final List<Integer> COUNTS = List.of(1, 1000, 50_000, 600_000);
        private static final long LATEST_NS = 4_000_000;
        private static final Duration LIMIT = Duration.ofMillis(3);
        private static final long LATE_WRITERS_NS = 3_000_000;

        /** Longer than a rank that gives up goes on trying to send what it has begun. */
        private static final long DEAF_NS = 300_000_000;

        private final Rank rank;
        private final Communicator control;
        private final Ending ending;
        private final Kind kind;
        private final int count;
        private final boolean blocking;
        private final int victim;
        private final int stalling;
        private final long afterNs;
        private final boolean forbids;
        private final boolean deaf;
        private final String name;
        private final ProtectedBuffer in;
        private final ProtectedBuffer out;
        private final AtomicReference<Throwable> problem = new AtomicReference<>();
        private Communicator comm;

        Moment(Rank rank, Communicator control, long seed) {
            this.rank = rank;
            this.control = control;
            Random common = new Random(seed * 0x9e3779b97f4a7c15L);
            ending = any(common, List.of(Ending.values()));
            kind = any(common, List.of(Kind.values()));
            count = any(common, COUNTS);
            blocking = common.nextInt(3) > 0 || ending == Ending.INTERRUPT;
            victim = common.nextInt(rank.nRanks());
            stalling = (victim + 1) % rank.nRanks();
            afterNs = (long) (common.nextDouble() * LATEST_NS);
            forbids = common.nextBoolean();
            deaf = common.nextInt(4) == 0;
            name =
                    (ending + " of " + kind + " of " + count + (blocking ? "" : ", non-blocking"))
                            + (" on rank " + victim + ", moment " + seed);
            in = new ProtectedBuffer(4L * count * rank.nRanks());
            out = new ProtectedBuffer(4L * count * rank.nRanks());
        }

        private static <T> T any(Random random, List<T> of) {
            return of.get(random.nextInt(of.size()));
        }

        private boolean isVictim() {
            return rank.number() == victim;
        }

        void run() throws Exception {
            Config config = Config.DEFAULT.withBlocking(blocking);
            if (rank.hostId() != null) {
                config = config.withHostId(rank.hostId());
            }
            if (ending == Ending.TIME_LIMIT && isVictim()) {
                config = config.withTimeout(LIMIT);
            }
            comm = Communicator.initRank(rank.nRanks(), nextId(), rank.number(), config);
            comm.awaitReady(InitTest.SOON);
            Sums.barrier(control);
            in.segment().fill((byte) 1);
            boolean aborts = isVictim() && ending == Ending.ABORT_BY_ANOTHER_THREAD;
            Thread caller = Thread.ofPlatform().unstarted(() -> call(!aborts));
            caller.start();
            LockSupport.parkNanos(afterNs);
            if (aborts) {
                comm.abort();
                take();
            } else if (isVictim() && ending == Ending.INTERRUPT) {
                caller.interrupt();
            }
            caller.join();
            LockSupport.parkNanos(LATE_WRITERS_NS);
            Sums.barrier(control);
            in.check(name);
            out.check(name);
            comm.abort();
            in.close();
            out.close();
            if (problem.get() != null) {
                throw new AssertionError(name, problem.get());
            }
        }

        private UniqueId nextId() {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment id = arena.allocate(UniqueId.BYTES, 8);
                if (rank.number() == 0) {
                    id.copyFrom(MemorySegment.ofArray(Communicator.uniqueId().toBytes()));
                }
                control.broadcast(id, id, UniqueId.BYTES, DataType.UINT8, 0);
                return new UniqueId(id.toArray(ValueLayout.JAVA_BYTE));
            }
        }

        private void take() {
            in.take(forbids);
            out.take(forbids);
        }

        /** Operation after operation, until one fails; then the buffers are taken at once. */
        private void call(boolean takes) {
            try {
                long until = System.nanoTime() + afterNs;
                while (true) {
                    if (rank.number() == stalling && ending != Ending.ABORT_BY_ANOTHER_THREAD) {
                        stall(until);
                    }
                    operation();
                    if (!blocking) {
                        comm.awaitReady(InitTest.SOON);
                    }
                }
            } catch (NcclException e) {
                if (takes) {
                    take();
                }
                check(e);
            } catch (RuntimeException | Error e) {
                problem.set(e);
            }
        }

        /**
         * From some moment on this rank makes no calls, and perhaps does not read, until it knows.
         */
        private void stall(long until) {
            if (deaf && System.nanoTime() - until > 0) {
                LockSupport.parkNanos(DEAF_NS);
            }
            while (System.nanoTime() - until > 0 && comm.asyncError() == NcclResult.SUCCESS) {
                LockSupport.parkNanos(LATEST_NS / 4);
            }
        }

        private void check(NcclException e) {
            boolean expected =
                    Set.of(
                                    NcclResult.REMOTE_ERROR,
                                    NcclResult.TIMEOUT,
                                    NcclResult.INVALID_USAGE,
                                    NcclResult.INVALID_ARGUMENT)
                            .contains(e.result());
            String text = String.valueOf(e.getMessage());
            boolean told = !text.contains("errno") && !text.contains("is lost");
            if (!expected || !told || !text.contains("rank " + victim)) {
                problem.set(e);
            }
        }

        private void operation() {
            MemorySegment from = in.segment();
            MemorySegment to = out.segment();
            DataType type = DataType.INT32;
            switch (kind) {
                case ALL_REDUCE -> comm.allReduce(from, to, count, type, RedOp.SUM);
                case IN_PLACE -> comm.allReduce(to, to, count, type, RedOp.SUM);
                case BROADCAST -> comm.broadcast(from, to, count, type, 0);
                case ALL_GATHER -> comm.allGather(from, to, count, type);
                case REDUCE_SCATTER -> comm.reduceScatter(from, to, count, type, RedOp.SUM);
                case RING_OF_MESSAGES -> Group.run(this::messages);
                case MIXED_GROUP ->
                        Group.run(
                                () -> {
                                    messages();
                                    long rest = 4L * count;
                                    comm.allReduce(
                                            from.asSlice(rest),
                                            to.asSlice(rest),
                                            count,
                                            type,
                                            RedOp.SUM);
                                });
            }
        }

        private void messages() {
            int n = rank.nRanks();
            comm.send(in.segment(), count, DataType.INT32, (rank.number() + 1) % n);
            comm.recv(out.segment(), count, DataType.INT32, (rank.number() + n - 1) % n);
        }
    }

    static List<Cluster> clusters() {
        return List.of(
                Cluster.processes(3),
                Cluster.processes(3).environment("NCCL_SHM_DISABLE", "1"),
                Cluster.processes(4).ranksPerProcess(2).nodes(2));
    }

    private static void run(Cluster cluster, int moments) {
        String seed = System.getenv().getOrDefault("JCCL_TEST_SEED", "");
        long first = seed.isEmpty() ? new Random().nextInt(1 << 20) : Long.parseLong(seed);
        System.out.println(cluster + ": JCCL_TEST_SEED=" + first);
        cluster.run(Moments.class, moments, first).assertAllSucceeded();
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void nobodyTouchesBuffersOfAnOperationThatHasBeenEnded(Cluster cluster) {
        run(cluster, SHORT);
    }

    @Tag("stress")
    @ParameterizedTest
    @MethodSource("clusters")
    void nobodyTouchesThemInFiveHundredMoments(Cluster cluster) {
        run(cluster.optimized().deadline(3600), LONG);
    }
}
