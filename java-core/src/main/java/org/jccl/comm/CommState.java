package org.jccl.comm;

/** The life of a communicator; every edge goes down this list. */
public enum CommState {
    /** Its ranks find each other. */
    INITIALIZING("created but not ready yet"),
    /** Usable. */
    READY("ready"),
    /** Finalized: only queries, destroy and abort. */
    FINALIZED("finalized"),
    /** Init failed: only destroy and abort. */
    FAILED("failed"),
    /** Freed by destroy or abort. */
    DESTROYED("destroyed");

    private final String text;

    CommState(String text) {
        this.text = text;
    }

    /** The state as a participle. */
    public String text() {
        return text;
    }

    /** Whether a communicator may go from this state to that one: the table of all edges. */
    boolean leadsTo(CommState next) {
        return switch (this) {
            case INITIALIZING -> next == READY || next == FAILED || next == DESTROYED;
            case READY -> next == FINALIZED || next == DESTROYED;
            case FINALIZED, FAILED -> next == DESTROYED;
            case DESTROYED -> false;
        };
    }
}
