package org.jccl.platform;

import java.util.concurrent.atomic.AtomicInteger;

/** Counts the users of something that is freed with the last one. Any thread may call it. */
public final class Users {
    /** Stays 0 once it is 0. */
    private final AtomicInteger count = new AtomicInteger(1);

    /** Adds a user; false if the thing is freed, or about to be. */
    public boolean join() {
        return count.getAndUpdate(now -> now == 0 ? 0 : now + 1) > 0;
    }

    /** Removes a user; true if that was the last one, which frees the thing. */
    public boolean leave() {
        return count.decrementAndGet() == 0;
    }
}
