package org.jccl.type;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The table of operations against what NCCL's documentation says of each. */
final class OperationTest {
    private static final int RANKS = 5;
    private static final int ROOT = 2;
    private static final int OTHER = 3;
    private static final long COUNT = 7;

    /**
     * Sizes in elements on the root and on another rank, and how far sendbuff lies behind recvbuff
     * in place on the root.
     */
    @ParameterizedTest
    @CsvSource({
        "BROADCAST,       7,  0,  7,  7,   0",
        "REDUCE,          7,  7,  7,  0,   0",
        "ALL_GATHER,      7,  7, 35, 35,  14",
        "REDUCE_SCATTER, 35, 35,  7,  7, -14",
        "ALL_REDUCE,      7,  7,  7,  7,   0",
        "ALL_TO_ALL,     35, 35, 35, 35,   0",
        "SCATTER,        35,  0,  7,  7, -14",
        "GATHER,          7,  7, 35,  0,  14",
    })
    void collectivesTakeAndGive(
            Operation operation,
            long sentByRoot,
            long sentByOther,
            long receivedByRoot,
            long receivedByOther,
            long inPlace) {
        assertEquals(sentByRoot, sent(operation, ROOT));
        assertEquals(sentByOther, sent(operation, OTHER));
        assertEquals(receivedByRoot, received(operation, ROOT));
        assertEquals(receivedByOther, received(operation, OTHER));
        assertEquals(inPlace, operation.inPlaceDistance(COUNT, ROOT));
        assertEquals(Math.max(sentByRoot, receivedByRoot), operation.size(COUNT, RANKS));
        boolean rooted = sentByRoot != sentByOther || receivedByRoot != receivedByOther;
        assertEquals(rooted, operation.rooted());
    }

    @Test
    void sendsAndReceivesHaveOneBuffer() {
        assertEquals(COUNT, sent(Operation.SEND, ROOT));
        assertEquals(0, received(Operation.SEND, ROOT));
        assertEquals(0, sent(Operation.RECV, ROOT));
        assertEquals(COUNT, received(Operation.RECV, ROOT));
        for (Operation operation : Operation.values()) {
            boolean expected = operation == Operation.SEND || operation == Operation.RECV;
            assertEquals(expected, operation.pointToPoint(), operation.name());
        }
    }

    @Test
    void numbersNameOperations() {
        for (Operation operation : Operation.values()) {
            assertSame(operation, Operation.of(operation.number()));
        }
        assertNull(Operation.of(-1));
        assertNull(Operation.of(5));
        assertNull(Operation.of(11));
    }

    private static long sent(Operation operation, int rank) {
        return operation.sends(rank, ROOT) ? operation.inSize(COUNT, RANKS) : 0;
    }

    private static long received(Operation operation, int rank) {
        return operation.receives(rank, ROOT) ? operation.outSize(COUNT, RANKS) : 0;
    }
}
