package org.jccl.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.executor.Call;
import org.jccl.executor.Plan;
import org.jccl.schedule.Nodes;
import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.Operation;
import org.junit.jupiter.api.Test;

final class PlannerTest {
    private static Planner planner(int nRanks) {
        return new Planner(0, Nodes.one(nRanks), new boolean[nRanks], "a test's communicator");
    }

    private static Plan allReduce(Planner planner, long count) {
        return planner.plan(call(Operation.ALL_REDUCE, count), true);
    }

    private static Call call(Operation operation, long count) {
        return new Call().of(operation).elements(count, DataType.FLOAT32.number());
    }

    @Test
    void planIsMadeOnce() {
        Planner planner = planner(4);
        assertSame(allReduce(planner, 1000), allReduce(planner, 1000));
    }

    /** As many as a communicator may have; more than the bound is refused, as above. */
    @Test
    void everyOperationOfAsManyRanksAsThereMayBeHasAPlanOrIsRefusedByItsSize() {
        for (int nRanks : new int[] {2049, 4097, 65536}) {
            Planner planner = planner(nRanks);
            long most = (1 << 18) / nRanks * (256L << 10) / 4;
            for (Operation operation :
                    new Operation[] {
                        Operation.ALL_REDUCE,
                        Operation.ALL_GATHER,
                        Operation.REDUCE_SCATTER,
                        Operation.BROADCAST
                    }) {
                boolean ofAll =
                        operation == Operation.ALL_GATHER || operation == Operation.REDUCE_SCATTER;
                long count = most / (ofAll ? nRanks : 1);
                Plan plan = planner.plan(call(operation, count), false);
                assertTrue(plan.weight() < 40 << 18, operation + " " + plan.weight());
                NcclException thrown =
                        assertThrows(
                                NcclException.class,
                                () -> planner.plan(call(operation, most + 1), false));
                assertEquals(NcclResult.INVALID_USAGE, thrown.result());
            }
        }
    }

    @Test
    void callThatNeedsAPlanTooLargeForTheHeapIsRefused() {
        for (int nRanks : new int[] {2, 8, 64}) {
            Planner planner = planner(nRanks);
            long most = (64L << 30) / nRanks / 4;
            assertTrue(allReduce(planner, most / 16).weight() > 0);
            NcclException thrown =
                    assertThrows(NcclException.class, () -> allReduce(planner, most + 1));
            assertEquals(NcclResult.INVALID_USAGE, thrown.result());
            String message = String.valueOf(thrown.getMessage());
            assertTrue(message.contains(4 * most + " bytes; call it for parts"), message);
        }
    }
}
