package org.jccl.platform;

import java.util.concurrent.atomic.AtomicInteger;

/** Counts who uses something that is freed when nobody does any more. Any thread may use it. */
public final class Users {
    /** Never more once it is 0. */
    private final AtomicInteger count = new AtomicInteger(1);

    /** There is one more; false if it is freed, or about to be. */
    public boolean join() {
        return count.getAndUpdate(now -> now == 0 ? 0 : now + 1) > 0;
    }

    /** There is one less; whether that was the last, who frees it. */
    public boolean leave() {
        return count.decrementAndGet() == 0;
    }
}
