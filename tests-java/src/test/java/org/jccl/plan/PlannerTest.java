package org.jccl.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.call.Call;
import org.jccl.schedule.NamedNodes;
import org.jccl.schedule.Nodes;
import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.Operation;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.stream.IntStream;

final class PlannerTest {
    private static final List<Operation> PLANNED =
            List.of(
                    Operation.ALL_REDUCE,
                    Operation.ALL_GATHER,
                    Operation.REDUCE_SCATTER,
                    Operation.BROADCAST);

    private static Planner planner(int nRanks) {
        return planner(Nodes.one(nRanks));
    }

    private static Planner planner(Nodes nodes) {
        boolean[] net = new boolean[nodes.nRanks()];
        for (int q = 0; q < net.length; q++) {
            net[q] = nodes.of(q) != nodes.of(0);
        }
        return new Planner(0, nodes, false, net, "a test's communicator");
    }

    @Test
    void plansAcrossNodesAreBoundedToo() {
        checkAcrossNodes(16);
        checkAcrossNodes(255);
    }

    @Tag("stress")
    @Test
    void plansAcrossNodesOfManyRanksAreBoundedToo() {
        checkAcrossNodes(2048);
    }

    /** A large node among as many of one rank, equal ones, and many small ones. */
    private static void checkAcrossNodes(int n) {
        int[] large = IntStream.range(0, n).map(r -> Math.max(r, n / 2)).toArray();
        Nodes oneLarge = NamedNodes.of(large);
        Nodes two = NamedNodes.of(IntStream.range(0, n).map(r -> r % 2).toArray());
        Nodes pairs = NamedNodes.of(IntStream.range(0, n).map(r -> r / 2).toArray());
        Nodes alone = NamedNodes.of(IntStream.range(0, n).toArray());
        for (Nodes nodes : List.of(oneLarge, two, pairs, alone)) {
            Planner planner = planner(nodes);
            long most = (1L << 18) / n * (256L << 10) / 4;
            for (Operation operation : PLANNED) {
                boolean ofAll = operation.size(1, n) > 1;
                Plan plan = planner.plan(call(operation, most / (ofAll ? n : 1)), false);
                assertTrue(plan.weight() < 40 << 18, n + " " + operation + plan.weight());
                Call larger = call(operation, most + 1);
                assertThrows(NcclException.class, () -> planner.plan(larger, false));
            }
        }
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

    /** The largest numbers of ranks; as above, a size beyond the bound is refused. */
    @Test
    void everyOperationOfAsManyRanksAsThereMayBeHasAPlanOrIsRefusedByItsSize() {
        for (int nRanks : new int[] {2049, 4097, 65536}) {
            Planner planner = planner(nRanks);
            long most = (1 << 18) / nRanks * (256L << 10) / 4;
            for (Operation operation : PLANNED) {
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
