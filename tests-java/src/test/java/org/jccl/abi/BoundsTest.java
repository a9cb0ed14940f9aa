package org.jccl.abi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.Communicator;
import org.jccl.Group;
import org.jccl.bootstrap.Rendezvous;
import org.jccl.comm.Comm;
import org.jccl.comm.Creation;
import org.jccl.progress.CommExecutor;
import org.jccl.type.DataType;
import org.jccl.type.NcclConfig;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.PreMulSum;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/** What a user could make grow without end has a bound, at which JCCL refuses more. */
final class BoundsTest {
    private static final int MORE_THAN_HANDLES = (1 << 16) + 1;

    @Test
    void handlesHaveABoundAndComeBack() {
        Comm comm = Creation.init(Rendezvous.createId(), 2, 0, NcclConfig.DEFAULT).comm();
        List<Long> handles = new ArrayList<>();
        try {
            NcclException refused =
                    assertThrows(
                            NcclException.class,
                            () -> {
                                for (int i = 0; i < MORE_THAN_HANDLES; i++) {
                                    handles.add(Handles.add(comm));
                                }
                            });
            assertEquals(NcclResult.INVALID_USAGE, refused.result());
            assertTrue(refused.getMessage().contains("not destroyed"), refused.getMessage());
            assertTrue(Handles.remove(handles.removeFirst()));
            handles.add(Handles.add(comm));
        } finally {
            handles.forEach(Handles::remove);
            comm.abort();
        }
    }

    @Test
    void groupHasABoundAndFailsAsAWhole() {
        try (Communicator comm = Communicator.initRank(1, Communicator.uniqueId(), 0);
                Arena arena = Arena.ofConfined()) {
            MemorySegment data = arena.allocate(4);
            Group.start();
            NcclException refused =
                    assertThrows(
                            NcclException.class,
                            () -> {
                                for (int i = 0; i <= CommExecutor.MAX_PENDING; i++) {
                                    comm.send(data, 1, DataType.INT32, 0);
                                }
                            });
            assertEquals(NcclResult.INVALID_USAGE, refused.result());
            assertTrue(refused.getMessage().contains("in one group"), refused.getMessage());
            assertThrows(NcclException.class, Group::end);
            Group.run(
                    () -> {
                        comm.send(data, 1, DataType.INT32, 0);
                        comm.recv(data, 1, DataType.INT32, 0);
                    });
        }
    }

    @Test
    void createdReductionsHaveABoundAndComeBack() {
        try (Communicator comm = Communicator.initRank(1, Communicator.uniqueId(), 0)) {
            MemorySegment factor = MemorySegment.ofArray(new int[] {2});
            List<PreMulSum> made = new ArrayList<>();
            NcclException refused =
                    assertThrows(
                            NcclException.class,
                            () -> {
                                while (true) {
                                    made.add(comm.preMulSum(factor, DataType.INT32));
                                }
                            });
            assertEquals(NcclResult.INVALID_USAGE, refused.result());
            assertTrue(refused.getMessage().contains("not destroyed"), refused.getMessage());
            assertEquals(1 << 16, made.size());
            made.getFirst().close();
            comm.preMulSum(factor, DataType.INT32).close();
        }
    }
}
