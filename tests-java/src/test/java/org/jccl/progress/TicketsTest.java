package org.jccl.progress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.call.Call;
import org.jccl.executor.Task;
import org.jccl.type.DataType;
import org.jccl.type.ErrorKind;
import org.jccl.type.Operation;
import org.junit.jupiter.api.Test;

class TicketsTest {
    private static final int MANY = 1000;
    private static final int FEW = 64;
    private static final int ROUNDS = 50;
    private static final long STACK_BYTES = 256 << 10;

    private final Tickets tickets = new Tickets();

    private static Task underWay() {
        Call call = new Call().of(Operation.SEND).elements(1, DataType.INT8.number());
        return new Task().of(call, null);
    }

    @Test
    void findsEveryTaskThatIsUnderWay() {
        Task[] tasks = new Task[MANY];
        for (int i = 0; i < MANY; i++) {
            tasks[i] = underWay();
            assertEquals(i + 1, tickets.give(tasks[i]));
        }
        for (int i = 0; i < MANY; i++) {
            assertSame(tasks[i], tickets.task(i + 1));
        }
    }

    @Test
    void keepsFewThatSucceededEvenIfNobodyAsks() {
        Task slow = underWay();
        long ticket = tickets.give(slow);
        for (int i = 0; i < MANY; i++) {
            Task task = underWay();
            tickets.give(task);
            task.done();
        }
        assertSame(slow, tickets.task(ticket));
        assertEquals(FEW + 1, tickets.size());
        slow.done();
        assertEquals(FEW, tickets.size());
        assertNull(tickets.task(ticket));
    }

    @Test
    void forgetsOneThatSucceededWhenAsked() {
        Task task = underWay();
        long ticket = tickets.give(task);
        task.done();
        assertNull(tickets.task(ticket));
        assertEquals(0, tickets.size());
        assertTrue(tickets.known(ticket));
    }

    @Test
    void keepsEveryFailure() {
        for (int i = 1; i <= MANY; i++) {
            Task task = underWay();
            tickets.give(task);
            task.fail(ErrorKind.ALREADY_ENDED.says("number %s", i));
        }
        for (int i = 1; i <= MANY; i++) {
            Task task = tickets.task(i);
            assertEquals("number " + i, task.failure().getMessage());
        }
    }

    /** Near the end of its stack a thread gives tickets, of which some fail. */
    @Test
    void losesNoTicketWhenTheStackEnds() throws InterruptedException {
        for (int round = 0; round < ROUNDS; round++) {
            Tickets shaken = new Tickets();
            for (int i = 0; i < FEW; i++) {
                shaken.give(underWay());
            }
            Thread deep = new Thread(null, () -> dive(shaken), "deep", STACK_BYTES);
            deep.start();
            deep.join();
            long given = 0;
            while (shaken.known(given + 1)) {
                given++;
                assertNotNull(shaken.task(given), "ticket " + given);
            }
            assertTrue(given > FEW);
        }
    }

    @SuppressWarnings("InfiniteRecursion") // The stack is to end.
    private static void dive(Tickets shaken) {
        try {
            dive(shaken);
        } catch (StackOverflowError end) {
            shaken.give(underWay());
        }
    }

    @Test
    void knowsNoNumberThatItHasNotGiven() {
        long ticket = tickets.give(underWay());
        assertTrue(tickets.known(ticket));
        assertFalse(tickets.known(0));
        assertFalse(tickets.known(-1));
        assertFalse(tickets.known(ticket + 1));
    }
}
