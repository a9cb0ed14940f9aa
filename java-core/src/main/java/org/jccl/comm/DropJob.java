package org.jccl.comm;

import org.jccl.log.Log;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

/**
 * Ends a communicator that its user has lost without destroying it, when a garbage collector finds
 * that out. It lets operations that are under way come to their end, for as long as destroy does,
 * but never holds up the thread that collects.
 *
 * @param comm the communicator
 * @param after runs once it has ended
 * @param untilNs System.nanoTime at which it is ended anyway
 */
public record DropJob(Comm comm, Runnable after, long untilNs) implements Job {
    private static final long LIMIT_NS = 5_000_000_000L;

    /**
     * Warns, and ends the communicator in the background.
     *
     * @param after runs once it has ended
     * @return false if there is nothing to do, since it had been destroyed or aborted
     */
    public static boolean start(Comm comm, Runnable after) {
        if (comm.state() == CommState.DESTROYED) {
            return false;
        }
        Log.warn(
                ErrorKind.NOT_DESTROYED.says(
                        "%s was garbage-collected before it was destroyed, and is ended now; "
                                + "keep it and destroy or abort it, or use it in a block that does",
                        comm.identity()));
        JobAgent.start(new DropJob(comm, after, System.nanoTime() + LIMIT_NS));
        return true;
    }

    @Override
    public boolean advance() {
        if (comm.state() == CommState.INITIALIZING || System.nanoTime() - untilNs >= 0) {
            comm.abort();
            return true;
        }
        if (comm.underWay()) {
            return false;
        }
        comm.destroy();
        return true;
    }

    @Override
    public void ended(@Nullable NcclException why) {
        try {
            if (why != null) {
                comm.abort();
            }
        } finally {
            after.run();
        }
    }
}
