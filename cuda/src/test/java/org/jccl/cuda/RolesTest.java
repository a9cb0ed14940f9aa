package org.jccl.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.call.Call;
import org.jccl.type.Operation;
import org.junit.jupiter.api.Test;

/** What each rank sends is taken by the ranks to which it sends it, and by no others. */
final class RolesTest {
    private static boolean has(int set, int rank) {
        return (set >> rank & 1) != 0;
    }

    private static void requirePairs(Call call, int nRanks) {
        for (int r = 0; r < nRanks; r++) {
            Roles mine = Roles.of(call, r, nRanks);
            for (int q = 0; q < nRanks; q++) {
                Roles theirs = Roles.of(call, q, nRanks);
                if (q != r) {
                    assertEquals(has(mine.readers(), q), has(theirs.sources(), r));
                    assertEquals(has(mine.relays(), q), has(theirs.relayed(), r));
                    // A ring of two ranks takes one piece at a time.
                    assertFalse(has(mine.readers() & mine.relays(), q));
                    assertFalse(has(mine.sources() & mine.relayed(), q));
                }
            }
            assertFalse(has(mine.readers() | mine.relays() | mine.relayed(), r));
        }
    }

    @Test
    void whatOneSendsAnotherTakes() {
        for (int nRanks = 2; nRanks <= LaunchArguments.MOST_RANKS; nRanks++) {
            for (Operation op : Calls.COLLECTIVES) {
                for (int root = 0; root < nRanks; root++) {
                    requirePairs(Calls.of(op, 1000, root), nRanks);
                    requirePairs(Calls.of(op, 1 << 26, root), nRanks);
                }
            }
        }
    }

    @Test
    void relayedPartsAreTheWhole() {
        for (int nRanks = 3; nRanks <= LaunchArguments.MOST_RANKS; nRanks++) {
            for (long bytes = 1 << 26; bytes < (1 << 26) + 200; bytes++) {
                Roles roles = Roles.of(Calls.of(Operation.REDUCE, bytes, 1), 0, nRanks);
                assertEquals(bytes, roles.allBytes());
                assertEquals(0, roles.partBytes() % 16);
                assertTrue(roles.partBytes() * (nRanks - 1) >= bytes);
                assertTrue(roles.partBytes() * (nRanks - 2) < bytes);
            }
        }
    }

    @Test
    void rootKeepsItsInputOnce() {
        Call call = Calls.of(Operation.BROADCAST, 1 << 26, 1);
        assertEquals(1 << 1, Roles.of(call, 1, 4).sources());
        call.buffers(call.output(), call.output());
        assertEquals(0, Roles.of(call, 1, 4).sources());
        assertEquals(1 << 1, Roles.of(call, 3, 4).sources());
    }
}
