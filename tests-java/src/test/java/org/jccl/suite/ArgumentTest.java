package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.Communicator;
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
    void typeThatIsNotSupportedIsRefused() {
        NcclException thrown =
                assertThrows(
                        NcclException.class,
                        () -> comm.allReduce(eight, eight, 1, DataType.FLOAT8E4M3, RedOp.SUM));
        assertTrue(
                String.valueOf(thrown.getMessage()).contains("ncclFloat8e4m3"), thrown::toString);
    }

    @Test
    void rankOutsideTheCommunicatorIsRefused() {
        UniqueId id = Communicator.uniqueId();
        refused("2", () -> Communicator.initRank(2, id, 2));
        refused("-1", () -> Communicator.initRank(2, id, -1));
        refused("0", () -> Communicator.initRank(0, id, 0));
    }

    @Test
    void closedCommunicatorIsRefusedAndClosingTwiceIsHarmless() {
        Communicator other = Communicator.initAll(1).getFirst();
        other.close();
        other.close();
        refused("destroyed", () -> other.allReduce(eight, eight, 1, DataType.INT32, RedOp.SUM));
    }
}
