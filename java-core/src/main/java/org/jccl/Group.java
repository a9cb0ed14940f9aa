package org.jccl;

import org.jccl.group.Launch;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;

/**
 * Operations that are called between {@link #start} and {@link #end} by one thread are started
 * together, so that their order does not matter and none waits for another. Groups nest; only the
 * outermost end starts the work.
 */
public final class Group {
    private Group() {}

    /** Begins a group of this thread. */
    public static void start() {
        org.jccl.group.Group.current().start();
    }

    /**
     * Ends a group of this thread. The outermost end starts everything that the group holds, and
     * returns when all of it is done, unless a communicator of the group does not block.
     *
     * @throws NcclException with INVALID_USAGE if this thread has no group; with the error of a
     *     call inside the group, whose other calls are then dropped; communicators that do not
     *     block and have calls in the group have then failed
     */
    public static void end() {
        Launch launch = org.jccl.group.Group.current().end();
        if (launch == null) {
            return;
        }
        if (launch.blocking()) {
            Slices.await(launch);
        } else {
            launch.leave();
        }
    }

    /**
     * Runs the calls as a group. If they throw, nothing of the group is started, and the exception
     * goes on to the caller.
     */
    public static void run(Runnable calls) {
        start();
        try {
            calls.run();
        } catch (Throwable e) {
            // Programs in other languages throw checked exceptions here, too.
            endFailed(e);
            throw e;
        }
        end();
    }

    private static void endFailed(Throwable error) {
        NcclException why =
                error instanceof NcclException known
                        ? known
                        : ErrorKind.GROUP_ABANDONED.says("a call inside the group threw %s", error);
        org.jccl.group.Group.current().remember(why);
        try {
            end();
        } catch (NcclException e) {
            if (e != error) {
                error.addSuppressed(e);
            }
        }
    }
}
