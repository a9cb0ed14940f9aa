package org.jccl.executor;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.jccl.call.Call;
import org.jccl.type.DataType;
import org.jccl.type.Operation;
import org.junit.jupiter.api.Test;

final class BlockedTest {
    private static final long LATE_NS = 1_000_000;

    private static Call call() {
        return new Call().of(Operation.ALL_REDUCE).elements(1, DataType.INT32.number());
    }

    /** Another lane may have shown the task since, and that is another clock. */
    @Test
    void clockIsThatOfTheCallAndNotOfTheObject() {
        Task task = new Task();
        Blocked here = new Blocked();
        Blocked elsewhere = new Blocked();
        task.of(call(), null);
        here.of(task).look(0, 1_000, LATE_NS);
        assertEquals(500, here.waitedNs(1_500));
        task.done();
        task.of(call(), null);
        elsewhere.of(task).look(0, 9_000, LATE_NS);
        assertEquals(0, here.of(task).waitedNs(9_500));
        assertEquals(500, elsewhere.waitedNs(9_500));
    }
}
