package org.jccl.abi;

import org.jccl.comm.Comm;
import org.jccl.group.Group;
import org.jccl.log.LastError;
import org.jccl.log.Log;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.Unforeseen;

import java.util.Arrays;
import java.util.concurrent.Callable;

/** Makes the result code that a C caller gets of what a function does, or fails with. */
final class Answer {
    /** Java ran out of memory, and so could not say it. */
    static final int NO_MEMORY = -1;

    /** The same for the thread's stack. */
    static final int NO_STACK = -2;

    /** Java failed in another way, and could not say how. */
    static final int NOT_KNOWN = -3;

    /** A function that succeeds if it returns. */
    interface Action {
        void run() throws Exception;
    }

    private Answer() {}

    /**
     * The result of a function whose failures are not in the log yet.
     *
     * @param comm the handle of the communicator whose rank their sentences name, 0 for none
     */
    static int of(long comm, Callable<NcclResult> function) {
        try {
            return function.call().code();
        } catch (Throwable t) {
            return refused(comm, t);
        }
    }

    /** The same for a function that succeeds if it returns. */
    static int done(long comm, Action function) {
        return of(
                comm,
                () -> {
                    function.run();
                    return NcclResult.SUCCESS;
                });
    }

    /** The result of a function whose failures are in the log already. */
    static int told(Callable<NcclResult> function) {
        try {
            return function.call().code();
        } catch (Throwable t) {
            return failed(t);
        }
    }

    /** The result of a function that failed with this, which is not in the log yet. */
    static int refused(long comm, Throwable t) {
        if (!(t instanceof NcclException refusal)) {
            return failed(t);
        }
        Comm known = Handles.find(comm);
        NcclException why = known == null ? refusal : refusal.on(known.identity());
        Log.warn(why);
        return failed(why);
    }

    /** The result of an operation that failed with this, whatever becomes of its sentence. */
    static int ofOperation(long comm, Throwable t) {
        try {
            return refused(comm, t);
        } catch (OutOfMemoryError e) {
            return NO_MEMORY;
        } catch (StackOverflowError e) {
            return NO_STACK;
        } catch (Throwable e) {
            return NOT_KNOWN;
        }
    }

    /** The result of a function that failed with this, which it logs only if nobody foresaw it. */
    static int failed(Throwable t) {
        NcclException why = Unforeseen.of(t, "in a call");
        if (why != t) {
            Log.warn(why.getMessage() + " at " + Arrays.toString(t.getStackTrace()));
        }
        LastError.setForThread(String.valueOf(why.getMessage()));
        Group.current().remember(why);
        return why.result().code();
    }
}
