package org.jccl.schedule;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.util.Arrays;
import java.util.IntSummaryStatistics;
import java.util.stream.IntStream;

final class NodesTest {
    private static final Nodes UNEQUAL = NamedNodes.of(new int[] {7, 3, 7, 7, 3, 9});

    @Test
    void nodesAreNumberedByTheirFirstRanks() {
        assertEquals(3, UNEQUAL.count());
        assertEquals(6, UNEQUAL.nRanks());
        assertArrayEquals(new int[] {0, 2, 3}, UNEQUAL.ranks(0));
        assertArrayEquals(new int[] {1, 4}, UNEQUAL.ranks(1));
        assertArrayEquals(new int[] {5}, UNEQUAL.ranks(2));
        assertEquals(1, UNEQUAL.of(4));
        assertEquals("[[0, 2, 3], [1, 4], [5]]", UNEQUAL.toString());
    }

    @Test
    void aRankIsItsOwnAgentAndTheOthersShareTheWork() {
        for (int r = 0; r < UNEQUAL.nRanks(); r++) {
            assertEquals(r, UNEQUAL.agent(UNEQUAL.of(r), r));
            assertEquals(5, UNEQUAL.agent(2, r));
        }
        assertEquals(1, UNEQUAL.agent(1, 0));
        assertEquals(4, UNEQUAL.agent(1, 2));
        assertEquals(1, UNEQUAL.agent(1, 3));
    }

    @Test
    void theRanksOfANodeAreAgentsOfEquallyMany() {
        int[] sizes = {8, 1, 4, 1, 1, 4};
        int[] names = new int[19];
        int next = 0;
        for (int node = 0; node < sizes.length; node++) {
            Arrays.fill(names, next, next + sizes[node], node);
            next += sizes[node];
        }
        Nodes nodes = NamedNodes.of(names);
        for (int node = 0; node < nodes.count(); node++) {
            int[] owners = new int[nodes.nRanks()];
            for (int r = 0; r < nodes.nRanks(); r++) {
                owners[nodes.agent(node, r)]++;
            }
            IntSummaryStatistics each =
                    IntStream.of(nodes.ranks(node)).map(r -> owners[r]).summaryStatistics();
            assertEquals(nodes.nRanks(), each.getSum());
            assertTrue(each.getMax() - each.getMin() <= 1, nodes + " node " + node);
        }
    }

    @Test
    void allRanksOfANodeShareWithEachOther() {
        Nodes chain = Nodes.of(4, (q, r) -> Math.abs(q - r) == 1);
        assertEquals("[[0, 1], [2, 3]]", chain.toString());
        Nodes alone = Nodes.of(4, (q, r) -> q != 1 && r != 1);
        assertEquals("[[0, 2, 3], [1]]", alone.toString());
        assertEquals("[[0], [1], [2]]", Nodes.of(3, (q, r) -> false).toString());
        assertEquals("[[0, 1, 2]]", Nodes.of(3, (q, r) -> true).toString());
    }

    @Test
    void ranksOfOneKindNeedNotShare() {
        Nodes.Sharing none =
                new Nodes.Sharing() {
                    @Override
                    public boolean between(int q, int r) {
                        return false;
                    }

                    @Override
                    public int kind(int q) {
                        return 0;
                    }
                };
        assertEquals("[[0], [1], [2]]", Nodes.of(3, none).toString());
    }

    @Test
    void deepAreSeveralNodesOfWhichOneHasSeveralRanks() {
        assertTrue(UNEQUAL.deep());
        assertFalse(Nodes.one(4).deep());
        assertFalse(NamedNodes.of(new int[] {1, 2, 3}).deep());
        assertThrows(IllegalArgumentException.class, () -> Nodes.one(0));
    }
}
