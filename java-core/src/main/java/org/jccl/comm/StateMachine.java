package org.jccl.comm;

import org.jccl.log.Log;
import org.jccl.type.LibraryError;

import java.util.concurrent.atomic.AtomicReference;

/** The state of one communicator, and the only place where it changes. For any thread. */
final class StateMachine {
    private final AtomicReference<CommState> state = new AtomicReference<>(CommState.INITIALIZING);

    CommState now() {
        return state.get();
    }

    /**
     * Changes the state if it is this one. An edge that {@link CommState#leadsTo} does not know is
     * a fault of JCCL: it is logged, and nothing changes.
     *
     * @return whether this call has changed it
     */
    boolean change(CommState from, CommState to, Comm whose) {
        if (!from.leadsTo(to)) {
            Log.survived("", illegal(from, to, whose));
            return false;
        }
        return state.compareAndSet(from, to);
    }

    private static Throwable illegal(CommState from, CommState to, Comm whose) {
        return LibraryError.IMPOSSIBLE.says(
                "%s is %s and cannot become %s", whose.identity(), from.text(), to.text());
    }

    /**
     * The end, to which each state leads.
     *
     * @return false if it has been before
     */
    boolean end(Comm whose) {
        for (CommState now = now(); now != CommState.DESTROYED; now = now()) {
            if (change(now, CommState.DESTROYED, whose)) {
                return true;
            }
        }
        return false;
    }
}
