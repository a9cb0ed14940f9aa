package org.jccl.bootstrap;

/** Ends this process's listener, as the end of the process would. */
public final class ListenerEnd {
    private ListenerEnd() {}

    /** Closes the sockets and ends the thread; the next that needs a listener makes new ones. */
    @SuppressWarnings("LockOnNonEnclosingClassLiteral") // the class itself locks so
    public static void now() {
        Listener ending;
        synchronized (Listener.class) {
            ending = Listener.shared;
            Listener.shared = null;
        }
        if (ending != null) {
            ending.agent.submit(ending.agent::close);
            ending.dropSpare();
        }
    }
}
