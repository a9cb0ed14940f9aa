package org.jccl.abi;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.jccl.platform.Memory;
import org.jccl.type.DataType;
import org.jccl.type.NcclResult;
import org.jccl.type.RedOp;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;

/** A call with the numbers of one that was right is checked for what may differ. */
final class RepeatedCallTest {
    private static final int TYPE = DataType.FLOAT32.number();
    private static final int SUM = RedOp.SUM.number();
    private static final long COUNT = 100;
    private static final long BYTES = 4 * COUNT;

    private final Arena arena = Arena.ofConfined();
    private final long send = arena.allocate(4 * BYTES, 64).address();
    private final long recv = send + BYTES;
    private final long handle = communicator();

    private long communicator() {
        assertEquals(0, NcclApi.commInitAll(send, 1, 0));
        return Memory.getLong(send);
    }

    @AfterEach
    void close() {
        NcclApi.commDestroy(handle);
        arena.close();
    }

    private void right(long from, long to) {
        assertEquals(0, Nccl.allReduce(from, to, COUNT, TYPE, SUM, handle, 0));
    }

    private void wrong(int result) {
        assertEquals(NcclResult.INVALID_ARGUMENT.code(), result);
    }

    @Test
    void addressesAreCheckedEachTime() {
        right(send, recv);
        wrong(Nccl.allReduce(0, recv, COUNT, TYPE, SUM, handle, 0));
        wrong(Nccl.allReduce(send, 0, COUNT, TYPE, SUM, handle, 0));
        wrong(Nccl.allReduce(send, send + 4, COUNT, TYPE, SUM, handle, 0));
        wrong(Nccl.allReduce(send, send + BYTES - 4, COUNT, TYPE, SUM, handle, 0));
        wrong(Nccl.allReduce(recv, recv - 4, COUNT, TYPE, SUM, handle, 0));
        right(recv, send);
        right(send, send);
        wrong(Nccl.allReduce(send, send + 4, COUNT, TYPE, SUM, handle, 0));
        right(send, recv);
    }

    /** Bits beyond those that numbers need must not make one number look like another. */
    @Test
    void otherNumbersAreOtherCalls() {
        right(send, recv);
        for (int bit = 5; bit < 32; bit++) {
            wrong(Nccl.allReduce(send, recv, COUNT, TYPE | 1 << bit, SUM, handle, 0));
            wrong(Nccl.allReduce(send, recv, COUNT, TYPE, SUM | 1 << bit, handle, 0));
        }
        wrong(Nccl.allReduce(send, recv, -1, TYPE, SUM, handle, 0));
        wrong(Nccl.allReduce(send, recv, COUNT, TYPE, SUM, handle, 1));
        wrong(Nccl.allReduce(send, recv, COUNT, TYPE, SUM, handle + 1, 0));
        assertEquals(0, Nccl.broadcast(send, recv, COUNT, TYPE, 0, handle, 0));
        wrong(Nccl.broadcast(send, recv, COUNT, TYPE, 1, handle, 0));
        wrong(Nccl.broadcast(send, recv, COUNT, TYPE, -1, handle, 0));
    }

    /** All bits of a negative root are set, whatever the other numbers are. */
    @Test
    void negativeRootIsNoOtherCall() {
        assertEquals(0, Nccl.broadcast(send, recv, COUNT, 0, 0, handle, 0));
        wrong(Nccl.broadcast(send, send, COUNT, TYPE, -1, handle, 0));
        assertEquals(0, Nccl.broadcast(send, send, COUNT, 0, 0, handle, 0));
        wrong(Nccl.broadcast(send, recv, COUNT, TYPE, -1, handle, 0));
        wrong(Nccl.broadcast(send, send, COUNT, TYPE, -1, handle, 0));
    }

    @Test
    void callAfterTheEndIsRefused() {
        right(send, recv);
        assertEquals(0, NcclApi.commFinalize(handle));
        wrong(Nccl.allReduce(send, recv, COUNT, TYPE, SUM, handle, 0));
    }
}
