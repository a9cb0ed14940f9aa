package org.jccl.progress;

import org.jccl.call.Call;
import org.jccl.comm.Comm;
import org.jccl.comm.Creation;
import org.jccl.comm.Operations;
import org.jccl.harness.Cluster;
import org.jccl.harness.Outcome;
import org.jccl.harness.Rank;
import org.jccl.platform.Memory;
import org.jccl.transport.Area;
import org.jccl.transport.Links;
import org.jccl.transport.RegionLayout;
import org.jccl.type.DataType;
import org.jccl.type.NcclConfig;
import org.jccl.type.NcclResult;
import org.jccl.type.Operation;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;

/** A rank believes only possible counts of chunks that a peer has written. */
final class FifoTest {
    /** A message that both ranks exchange before, so that counts are not at their start. */
    private static final int BEFORE = 3;

    /** A wrong count, and the transport on which it stands in the place of the right one. */
    record Case(Cluster cluster, long count) {}

    static List<Case> wrongHeads() {
        return cases(BEFORE - 1, BEFORE + RegionLayout.FIFO_SLOTS + 1, 1L << 40);
    }

    static List<Case> wrongTails() {
        return cases(BEFORE + 1, BEFORE - RegionLayout.FIFO_SLOTS - 1, 1L << 40);
    }

    private static List<Case> cases(long... counts) {
        List<Case> all = new ArrayList<>();
        for (Cluster cluster : List.of(Cluster.threads(2), Cluster.threads(2).nodes(2))) {
            for (long count : counts) {
                all.add(new Case(cluster, count));
            }
            all.add(new Case(cluster, Long.MIN_VALUE));
            all.add(new Case(cluster, Long.MAX_VALUE));
        }
        return all;
    }

    @ParameterizedTest
    @MethodSource("wrongHeads")
    void receiverNamesThePeerWhoseHeadIsImpossible(Case wrong) {
        Outcome outcome =
                wrong.cluster()
                        .runHere(
                                rank ->
                                        exchange(
                                                rank,
                                                Operation.RECV,
                                                RegionLayout.fifoFlag(Area.FIFO, 1, 0),
                                                wrong.count()));
        outcome.rank(1)
                .assertFailed(
                        NcclResult.REMOTE_ERROR,
                        "rank 0 says that it has put " + wrong.count() + " chunks",
                        "of which " + BEFORE + " are taken");
        outcome.rank(0).assertFailed(NcclResult.REMOTE_ERROR, "rank 0 says that it has put");
    }

    @ParameterizedTest
    @MethodSource("wrongTails")
    void senderNamesThePeerWhoseTailIsImpossible(Case wrong) {
        Outcome outcome =
                wrong.cluster()
                        .runHere(
                                rank ->
                                        exchange(
                                                rank,
                                                Operation.SEND,
                                                RegionLayout.fifoFlag(Area.FIFO, 1, 1),
                                                wrong.count()));
        outcome.rank(1)
                .assertFailed(
                        NcclResult.REMOTE_ERROR,
                        "rank 0 says that it has taken " + wrong.count() + " chunks",
                        "was given " + BEFORE);
        outcome.rank(0).assertFailed(NcclResult.REMOTE_ERROR, "rank 0 says that it has taken");
    }

    /**
     * Some messages from one to the other; then a count in rank 0's region, as rank 1 sees it, is
     * made wrong, and rank 1 goes on. Rank 0 waits for it.
     */
    private static void exchange(Rank rank, Operation ofRank1, long word, long count)
            throws InterruptedException {
        NcclConfig config = NcclConfig.DEFAULT.withHostId(rank.hostId());
        Creation creation = Creation.initBlocking(rank.uniqueId("fifo"), 2, rank.number(), config);
        while (!creation.await(System.nanoTime() + 1_000_000_000L)) {
            Thread.onSpinWait();
        }
        creation.result();
        Comm comm = creation.comm();
        Operation own = rank.number() == 1 ? ofRank1 : other(ofRank1);
        try (Arena arena = Arena.ofConfined()) {
            long buffer = arena.allocate(8, 8).address();
            for (int i = 0; i < BEFORE; i++) {
                pointToPoint(comm, own, buffer);
            }
            rank.post("done " + rank.number(), "");
            rank.await("done " + (1 - rank.number()));
            if (rank.number() == 1) {
                plant(comm.executor().links, word, count);
                pointToPoint(comm, own, buffer);
            } else {
                pointToPoint(comm, Operation.RECV, buffer);
                pointToPoint(comm, Operation.RECV, buffer);
            }
        } finally {
            comm.abort();
        }
    }

    /** Writes a count, once the count that rank 0 itself wrote there has come. */
    private static void plant(Links links, long word, long count) {
        long at = links.base(0) + word;
        while (Memory.getLongAcquire(at) != BEFORE) {
            links.peer(0).receive();
        }
        Memory.putLongRelease(at, count);
    }

    private static Operation other(Operation operation) {
        return operation == Operation.SEND ? Operation.RECV : Operation.SEND;
    }

    private static void pointToPoint(Comm comm, Operation operation, long buffer) {
        var call =
                Operations.run(
                        comm,
                        new Call()
                                .of(operation)
                                .buffer(buffer)
                                .elements(1, DataType.INT32.number())
                                .with(1 - comm.rank()));
        if (call == null) {
            return;
        }
        while (!call.await(System.nanoTime() + 1_000_000_000L)) {
            Thread.onSpinWait();
        }
        call.result();
    }
}
