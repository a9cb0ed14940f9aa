package org.jccl;

/**
 * Operations that are called between {@link #start} and {@link #end} by one thread are started
 * together, so that their order does not matter and none waits for another. Groups nest; only the
 * outermost end starts the work.
 */
@SuppressWarnings("DoNotCallSuggester")
public final class Group {
    private Group() {}

    /** Begins a group of this thread. */
    public static void start() {
        throw new UnsupportedOperationException();
    }

    /**
     * Ends a group of this thread. The outermost end starts everything that the group holds, and
     * returns when all of it is done, unless a communicator of the group does not block.
     *
     * @throws org.jccl.type.NcclException with INVALID_USAGE if this thread has no group; with the
     *     error of a call inside the group, whose other calls are then dropped
     */
    public static void end() {
        throw new UnsupportedOperationException();
    }

    /** Runs the calls as a group, which is ended also when they throw. */
    public static void run(Runnable calls) {
        start();
        boolean returned = false;
        try {
            calls.run();
            returned = true;
        } finally {
            endAfter(returned);
        }
    }

    private static void endAfter(boolean returned) {
        try {
            end();
        } catch (org.jccl.type.NcclException e) {
            if (returned) {
                throw e;
            }
        }
    }
}
