package org.jccl.collective;

/** What the flag words of a rank say; their deltas are chunk + 1. */
final class Flags {
    /** The rank's contribution to the chunk can be read. */
    static final int CONTRIBUTED = 0;

    /** The rank's folded slice of the chunk can be read. */
    static final int REDUCED = 1;

    /** The rank has read the chunk. */
    static final int TAKEN = 1;

    private Flags() {}
}
