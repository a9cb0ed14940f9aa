package org.jccl.abi;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.jccl.log.LastError;
import org.jccl.platform.Memory;
import org.jccl.type.NcclResult;
import org.jccl.type.UniqueId;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Groups whose end does not wait, polled by several threads. */
final class StartedGroupTest {
    private static final int ROUNDS = 50;
    private static final int THREADS = 3;

    /** Each creation is run by one of them at a time. */
    @Test
    void threadsPollOneGroupOfInits() throws InterruptedException {
        for (int round = 0; round < ROUNDS; round++) {
            long comms = Subject.room(16);
            long id = Subject.room(UniqueId.BYTES);
            long ticketOut = Subject.room(8);
            NcclApi.getUniqueId(id);
            NcclApi.startGroup();
            for (int rank = 0; rank < 2; rank++) {
                assertEquals(0, NcclApi.commInitRank(comms + 8L * rank, 2, id, rank));
            }
            long first = Memory.getLong(comms);
            int code = NcclApi.endGroup(first, ticketOut);
            assertEquals(NcclResult.IN_PROGRESS.code(), code, LastError.get());
            long ticket = Memory.getLong(ticketOut);
            List<Integer> codes = Collections.synchronizedList(new ArrayList<>());
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                threads.add(Thread.ofPlatform().start(() -> codes.add(poll(first, ticket))));
            }
            for (Thread thread : threads) {
                thread.join();
            }
            assertEquals(Collections.nCopies(THREADS, 0), codes, LastError.get());
            long count = Subject.room(4);
            for (int rank = 0; rank < 2; rank++) {
                long comm = Memory.getLong(comms + 8L * rank);
                assertEquals(0, NcclApi.commCount(comm, count), LastError.get());
                assertEquals(2, Memory.getInt(count));
                assertEquals(0, NcclApi.commAbort(comm));
            }
        }
    }

    private static int poll(long comm, long ticket) {
        int code;
        do {
            code = NcclApi.poll(comm, ticket, 0);
        } while (code == NcclResult.IN_PROGRESS.code());
        return code;
    }
}
