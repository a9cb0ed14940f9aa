package org.jccl.suite;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.Operation;
import org.jccl.type.RedOp;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/** The last rank calls something else than the others: all get an error that names both calls. */
final class MismatchTest {
    /** One for each kind of plan: in lines, in the small slot, in the direct slot, in chunks. */
    private static final List<Integer> COUNTS = List.of(1, 1000, 8000, 1 << 20);

    private static final List<Operation> OPERATIONS =
            List.of(
                    Operation.ALL_REDUCE,
                    Operation.BROADCAST,
                    Operation.ALL_GATHER,
                    Operation.REDUCE_SCATTER);

    /** How long the rank that comes last leaves the others alone. */
    private static final int LATE_MS = 3;

    /** A call that a rank makes. */
    private record Call(Operation operation, int count) {
        void make(Communicator comm, MemorySegment in, MemorySegment out) {
            DataType type = DataType.FLOAT32;
            switch (operation) {
                case ALL_REDUCE -> comm.allReduce(in, out, count, type, RedOp.SUM);
                case BROADCAST -> comm.broadcast(in, out, count, type, root(comm));
                case ALL_GATHER -> comm.allGather(in, out, count, type);
                default -> comm.reduceScatter(in, out, count, type, RedOp.SUM);
            }
        }

        /** A root waits for nobody, nor does anybody else wait for a rank that is not the root. */
        boolean mayReturn(Communicator comm) {
            return operation == Operation.BROADCAST
                    && (comm.rank() == root(comm) || comm.count() > 2);
        }

        private static int root(Communicator comm) {
            return comm.count() - 1;
        }

        String text() {
            return "nccl" + operation.ncclName() + "(" + count + " x ";
        }
    }

    /** The call of the last rank, that of all others, and which of the two come late. */
    private record Case(Call last, Call others, boolean lastIsLate) {}

    private static List<Case> otherCounts() {
        List<Case> cases = new ArrayList<>();
        for (int a : COUNTS) {
            for (int b : COUNTS) {
                Call last = new Call(Operation.ALL_REDUCE, a);
                Call others = new Call(Operation.ALL_REDUCE, a == b ? b + 1 : b);
                cases.add(new Case(last, others, false));
                cases.add(new Case(last, others, true));
            }
        }
        return cases;
    }

    private static List<Case> otherOperations() {
        List<Case> cases = new ArrayList<>();
        for (Operation a : OPERATIONS) {
            for (Operation b : OPERATIONS) {
                for (int i = 0; a != b && i < COUNTS.size(); i++) {
                    Call last = new Call(a, COUNTS.get(i));
                    Call others = new Call(b, COUNTS.get((i + i % 2) % COUNTS.size()));
                    boolean late = (i % 3 == 0) == (a.number() < b.number());
                    cases.add(new Case(last, others, late));
                }
            }
        }
        return cases;
    }

    static List<Cluster> clusters() {
        return List.of(
                Cluster.threads(2),
                Cluster.threads(2).nodes(2),
                Cluster.processes(2),
                Cluster.threads(4).nodes(2));
    }

    /** Each case has a communicator of its own, since none survives a case. */
    public static final class Mismatches implements Scenario {
        @Override
        public void run(Rank rank) throws InterruptedException {
            List<Case> cases =
                    rank.argument(0).equals("counts") ? otherCounts() : otherOperations();
            try (Arena arena = Arena.ofConfined()) {
                long bytes = 4L * rank.nRanks() * (1 + COUNTS.getLast());
                MemorySegment in = arena.allocate(bytes, 8);
                MemorySegment out = arena.allocate(bytes, 8);
                for (int i = 0; i < cases.size(); i++) {
                    run(rank, "case " + i, cases.get(i), in, out);
                }
            }
        }

        private static void run(
                Rank rank, String name, Case wrong, MemorySegment in, MemorySegment out)
                throws InterruptedException {
            boolean last = rank.number() == rank.nRanks() - 1;
            Call call = last ? wrong.last() : wrong.others();
            Communicator comm = rank.init(name, Config.DEFAULT);
            try {
                Sums.barrier(comm);
                if (last == wrong.lastIsLate()) {
                    rank.await(name + (last ? 0 : rank.nRanks() - 1));
                    Thread.sleep(LATE_MS);
                } else {
                    rank.post(name + rank.number(), "");
                }
                NcclException error = errorOf(comm, call, in, out);
                String text = String.valueOf(error.getMessage());
                Sums.require(
                        error.result() == NcclResult.INVALID_USAGE
                                && text.contains(wrong.last().text())
                                && text.contains(wrong.others().text()),
                        wrong + " ended with " + error.result() + ": " + text);
            } finally {
                comm.abort();
            }
        }

        private static NcclException errorOf(
                Communicator comm, Call call, MemorySegment in, MemorySegment out) {
            try {
                call.make(comm, in, out);
                Sums.require(call.mayReturn(comm), "rank " + comm.rank() + " returned: " + call);
                Sums.barrier(comm);
            } catch (NcclException e) {
                return e;
            }
            throw new AssertionError("rank " + comm.rank() + " returned twice: " + call);
        }
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void otherCountIsNamedOnAllSides(Cluster cluster) {
        cluster.run(Mismatches.class, "counts").assertAllSucceeded();
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void otherOperationIsNamedOnAllSides(Cluster cluster) {
        cluster.run(Mismatches.class, "operations").assertAllSucceeded();
    }

    /**
     * In the first call of all each node has a root of its own, so that nothing goes from node to
     * node and nobody waits for what does not come. The next call finds out.
     */
    @ParameterizedTest
    @ValueSource(ints = {2, 4})
    void otherRootInTheFirstCallIsNamedByTheSecond(int nRanks) {
        Cluster.threads(nRanks).nodes(2).runHere(MismatchTest::rootOfEachNode).assertAllSucceeded();
    }

    private static void rootOfEachNode(Rank rank) {
        boolean first = rank.number() < rank.nRanks() / 2;
        int count = first || rank.nRanks() > 2 ? 1000 : 1;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment data = arena.allocate(4000);
            Communicator comm = rank.init();
            NcclException error =
                    Assertions.assertThrows(
                            NcclException.class,
                            () -> {
                                int root = first ? 0 : rank.nRanks() / 2;
                                comm.broadcast(data, data, count, DataType.FLOAT32, root);
                                comm.allReduce(data, data, 1000, DataType.FLOAT32, RedOp.SUM);
                            });
            String text = String.valueOf(error.getMessage());
            Sums.require(
                    error.result() == NcclResult.INVALID_USAGE && text.contains("ncclBroadcast("),
                    error.result() + ": " + text);
            comm.abort();
        }
    }

    /** Rank 0 sends what rank 1 does not expect: another count, another type. */
    public static final class UnmatchedSends implements Scenario {
        @Override
        public void run(Rank rank) {
            int[] sent = {10, 100_000};
            for (int i = 0; i < sent.length; i++) {
                run(rank, "count " + i, sent[i], sent[i] + 1, DataType.INT32);
                run(rank, "less " + i, sent[i], sent[i] - 1, DataType.INT32);
                run(rank, "type " + i, sent[i], sent[i], DataType.FLOAT32);
            }
        }

        private static void run(Rank rank, String name, int sent, int received, DataType type) {
            Config placed = Config.DEFAULT.withHostId(rank.argument(0) + rank.number());
            Config config = rank.argument(0).isEmpty() ? Config.DEFAULT : placed;
            Communicator comm =
                    Communicator.initRank(2, rank.uniqueId(name), rank.number(), config);
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment data = arena.allocate(4L * (1 + Math.max(sent, received)), 8);
                if (rank.number() == 0) {
                    comm.send(data, sent, DataType.INT32, 1);
                } else {
                    comm.recv(data, received, type, 0);
                }
                Sums.barrier(comm);
                throw new AssertionError(name + ": rank " + rank.number() + " succeeded");
            } catch (NcclException e) {
                String text = String.valueOf(e.getMessage());
                Sums.require(
                        e.result() == NcclResult.INVALID_USAGE
                                && text.contains("do not match")
                                && text.contains("(" + sent + " x ")
                                && text.contains("(" + received + " x "),
                        name + " ended with " + e.result() + ": " + text);
            } finally {
                comm.abort();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "host"})
    void sendThatDoesNotMatchIsNamedOnBothSides(String host) {
        Cluster.threads(2).run(UnmatchedSends.class, host).assertAllSucceeded();
        Cluster.processes(2).run(UnmatchedSends.class, host).assertAllSucceeded();
    }
}
