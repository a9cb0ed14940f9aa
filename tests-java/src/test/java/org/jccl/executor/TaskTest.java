package org.jccl.executor;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.jccl.call.Call;
import org.jccl.type.DataType;
import org.jccl.type.Operation;
import org.junit.jupiter.api.Test;

import java.util.concurrent.atomic.AtomicInteger;

/** What runs at the end of a task. */
final class TaskTest {
    private record Counting(AtomicInteger count) implements Runnable {
        @Override
        public void run() {
            count.incrementAndGet();
        }
    }

    private static Call call() {
        return new Call().of(Operation.RECV).elements(1, DataType.INT8.number()).with(0);
    }

    @Test
    void equalActionsRunOnceAtEachEnd() {
        AtomicInteger one = new AtomicInteger();
        AtomicInteger other = new AtomicInteger();
        Task task = new Task();
        for (int end = 1; end <= 2; end++) {
            task.of(call(), null);
            for (int i = 0; i < 3; i++) {
                task.whenOverOnce(new Counting(one));
                task.whenOverOnce(new Counting(other));
            }
            task.done();
            assertEquals(end, one.get());
            assertEquals(end, other.get());
        }
    }

    @Test
    void anActionRunsAtOnceAfterTheEnd() {
        AtomicInteger count = new AtomicInteger();
        Task task = new Task().of(call(), null);
        task.done();
        task.whenOverOnce(new Counting(count));
        assertEquals(1, count.get());
    }
}
