package org.jccl.progress;

import org.jccl.log.Log;
import org.jccl.platform.Cores;
import org.jccl.platform.Threads;
import org.jspecify.annotations.Nullable;

import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/**
 * Thread {@code jccl-relay}: beside other work it wakes the thread that is lent, on behalf of one
 * that starts an operation, and keeps off that one's core; ARCHITECTURE.md says what they gain. It
 * is made when first needed.
 */
final class Relay implements Runnable {
    /** Made once, under the monitor of this class. */
    private static @Nullable Relay only;

    private final Thread thread = Threads.daemon("jccl-relay", this);

    /** What wakes it; set by threads that start operations, cleared by this one. */
    private final AtomicReference<@Nullable Runnable> next = new AtomicReference<>();

    /** The core of the last such thread; any value is right. */
    private int core = -1;

    /** The core that this thread keeps off; its own. */
    private int left = -1;

    private Relay() {}

    /** Has a thread woken, soon, on behalf of one that runs on {@code core}. */
    static void pass(Runnable waking, int core) {
        Relay relay = existing();
        if (relay == null) {
            waking.run();
            return;
        }
        relay.core = core;
        Runnable before = relay.next.getAndSet(waking);
        LockSupport.unpark(relay.thread);
        if (before != null && !before.equals(waking)) {
            before.run();
        }
    }

    /** Null if no thread can be started. */
    private static synchronized @Nullable Relay existing() {
        if (only == null) {
            Relay relay = new Relay();
            try {
                relay.thread.start();
            } catch (Error noThread) {
                return null;
            }
            only = relay;
        }
        return only;
    }

    @Override
    public void run() {
        while (true) {
            try {
                turn();
            } catch (RuntimeException | Error failure) {
                Log.survived("jccl-relay goes on after: ", failure);
            }
        }
    }

    private void turn() {
        if (left != core) {
            left = core;
            Cores.keepOff(left);
        }
        Runnable waking = next.getAndSet(null);
        if (waking == null) {
            LockSupport.park(this);
        } else {
            waking.run();
        }
    }
}
