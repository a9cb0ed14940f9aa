package org.jccl.suite;

import org.jccl.Communicator;
import org.jccl.type.DataType;
import org.jccl.type.RedOp;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/** {@link Sums} on communicators that do not block. */
final class NonBlocking {
    private NonBlocking() {}

    /** All-reduces count int32, waits, and compares. */
    static void allReduce(Communicator comm, int count) {
        allReduceAll(List.of(comm), count);
    }

    /** The same on several communicators of one thread. */
    static void allReduceAll(List<Communicator> comms, int count) {
        try (Arena arena = Arena.ofShared()) {
            List<MemorySegment> data = new ArrayList<>();
            for (Communicator comm : comms) {
                MemorySegment own = Sums.filled(arena, comm.rank(), count);
                data.add(own);
                comm.allReduce(own, own, count, DataType.INT32, RedOp.SUM);
            }
            for (int i = 0; i < comms.size(); i++) {
                comms.get(i).awaitReady(InitTest.SOON);
                Sums.checkSum(data.get(i), comms.get(i).count(), count);
            }
        }
    }
}
