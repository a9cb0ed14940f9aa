package org.jccl.executor;

/**
 * What cannot go on: for which rank it waits and, where that is known, which word of the rank's
 * region must change. Used by the owner of the communicator only.
 */
final class Blocked {
    private int rank = -1;
    private long address;
    private long value;

    /** The rank, -1 if none is known. */
    int rank() {
        return rank;
    }

    /** The address of a long that must change first, 0 if unknown. */
    long address() {
        return address;
    }

    /** The value seen there. */
    long value() {
        return value;
    }

    /** It waits for this; false, as an answer whether it goes on. */
    boolean on(int itsRank, long itsAddress, long seen) {
        rank = itsRank;
        address = itsAddress;
        value = seen;
        return false;
    }

    /** It does not say for what it waits. */
    void unknown() {
        on(-1, 0, 0);
    }
}
