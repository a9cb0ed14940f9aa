package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.RedOp;
import org.jccl.type.UniqueId;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.time.temporal.ChronoUnit;

/** Bad arguments are refused with a sentence before anything happens. */
final class ArgumentTest {
    private final Communicator comm = Communicator.initAll(1).getFirst();
    private final Arena arena = Arena.ofConfined();
    private final MemorySegment eight = arena.allocate(32, 8);

    @AfterEach
    void close() {
        Sums.barrier(comm);
        comm.close();
        arena.close();
    }

    private static void refused(String part, Executable call) {
        NcclException thrown = assertThrows(NcclException.class, call);
        assertEquals(NcclResult.INVALID_ARGUMENT, thrown.result(), thrown.getMessage());
        String message = String.valueOf(thrown.getMessage());
        assertTrue(message.contains(part), message);
    }

    @Test
    void timeLimitMayBeAsLongAsADuration() {
        Duration forever = ChronoUnit.FOREVER.getDuration();
        Config config = Config.DEFAULT.withTimeout(forever).withBlocking(false);
        try (Communicator late = Communicator.initRank(1, Communicator.uniqueId(), 0, config)) {
            late.awaitReady(forever);
            assertEquals(NcclResult.SUCCESS, late.asyncError());
        }
    }

    @Test
    void bufferThatIsTooSmallIsRefused() {
        refused("36", () -> comm.allReduce(eight, eight, 9, DataType.FLOAT32, RedOp.SUM));
    }

    @Test
    void bufferOnTheHeapIsRefused() {
        MemorySegment heap = MemorySegment.ofArray(new float[8]);
        refused("heap", () -> comm.allReduce(heap, eight, 8, DataType.FLOAT32, RedOp.SUM));
    }

    @Test
    void readOnlyReceiveBufferIsRefused() {
        MemorySegment readOnly = eight.asReadOnly();
        refused("read-only", () -> comm.allReduce(eight, readOnly, 8, DataType.INT32, RedOp.SUM));
    }

    @Test
    void noElementsNeedNoBufferThatWouldDo() {
        comm.allReduce(eight, eight.asReadOnly(), 0, DataType.INT32, RedOp.SUM);
        comm.allReduce(MemorySegment.ofArray(new int[1]), eight, 0, DataType.INT32, RedOp.SUM);
    }

    @Test
    void timeLimitThatIsNullIsRefused() {
        refused("Config.withTimeout: timeout", () -> Config.DEFAULT.withTimeout(null));
        refused("Communicator.awaitReady: timeout", () -> comm.awaitReady(null));
    }

    @Test
    void negativeCountIsRefused() {
        refused("-1", () -> comm.allReduce(eight, eight, -1, DataType.INT32, RedOp.SUM));
    }

    @Test
    void countThatOverflowsIsRefused() {
        long huge = Long.MAX_VALUE / 2;
        refused("" + huge, () -> comm.allReduce(eight, eight, huge, DataType.INT32, RedOp.SUM));
    }

    @Test
    void rootAndPeerOutsideTheCommunicatorAreRefused() {
        refused("1", () -> comm.broadcast(eight, eight, 1, DataType.INT32, 1));
        refused("-1", () -> comm.send(eight, 1, DataType.INT32, -1));
        refused("7", () -> comm.recv(eight, 1, DataType.INT32, 7));
    }

    @Test
    void buffersThatOverlapInPartAreRefused() {
        DataType type = DataType.FLOAT32;
        MemorySegment later = eight.asSlice(8);
        MemorySegment next = eight.asSlice(16);
        refused("8 bytes after", () -> comm.allReduce(eight, later, 6, type, RedOp.SUM));
        refused("8 bytes before", () -> comm.allReduce(later, eight, 6, type, RedOp.SUM));
        refused("overlap", () -> comm.broadcast(eight, later, 3, type, 0));
        refused("overlap", () -> comm.allGather(later, eight, 3, type));
        refused("overlap", () -> comm.reduceScatter(eight, later, 3, type, RedOp.SUM));
        comm.allReduce(eight, next, 4, type, RedOp.SUM);
        comm.allReduce(next, eight, 4, type, RedOp.SUM);
        comm.allReduce(eight, later, 0, type, RedOp.SUM);
        comm.allGather(eight, eight, 8, type);
    }

    /** With several ranks each has its own place in the longer buffer. */
    @Test
    void onlyTheOwnPartOfTheLongerBufferIsInPlace() {
        Cluster.threads(2).runHere(ArgumentTest::overlapOfTwo).assertAllSucceeded();
    }

    private static void overlapOfTwo(Rank rank) {
        try (Arena buffers = Arena.ofConfined();
                Communicator pair = rank.init()) {
            DataType type = DataType.INT32;
            MemorySegment whole = buffers.allocate(64, 8);
            MemorySegment own = whole.asSlice(32L * rank.number());
            MemorySegment other = whole.asSlice(32L - 32L * rank.number());
            refused("overlap", () -> pair.allGather(other, whole, 8, type));
            refused("overlap", () -> pair.reduceScatter(whole, other, 8, type, RedOp.SUM));
            refused("overlap", () -> pair.allGather(whole.asSlice(4), whole, 8, type));
            pair.allGather(own, whole, 8, type);
            pair.reduceScatter(whole, own, 8, type, RedOp.SUM);
            if (rank.number() == 0) {
                MemorySegment later = whole.asSlice(4);
                refused("overlap", () -> pair.broadcast(whole, later, 8, type, 0));
            }
            pair.broadcast(whole, rank.number() == 0 ? whole : whole.asSlice(4), 8, type, 0);
            Sums.barrier(pair);
        }
    }

    @Test
    void rankOutsideTheCommunicatorIsRefused() {
        UniqueId id = Communicator.uniqueId();
        refused("2", () -> Communicator.initRank(2, id, 2));
        refused("-1", () -> Communicator.initRank(2, id, -1));
        refused("0", () -> Communicator.initRank(0, id, 0));
        refused("0", () -> Communicator.initAll(0));
    }

    @Test
    void closedCommunicatorIsRefusedAndClosingTwiceIsHarmless() {
        Communicator other = Communicator.initAll(1).getFirst();
        other.close();
        other.close();
        refused("destroyed", () -> other.allReduce(eight, eight, 1, DataType.INT32, RedOp.SUM));
    }
}
