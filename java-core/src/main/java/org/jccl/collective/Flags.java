package org.jccl.collective;

/**
 * What the flag words of a rank say. The delta of a chunk's flag is chunk + 1, that of a flag for
 * the whole call is 1. An algorithm uses REDUCED or TAKEN, which are the same word.
 */
final class Flags {
    /** The rank's contribution to the chunk can be read. */
    static final int CONTRIBUTED = 0;

    /** The rank's folded slice of the chunk can be read. */
    static final int REDUCED = 1;

    /** The rank has read the chunk. */
    static final int TAKEN = 1;

    /** The sums that the rank has folded of its node's contributions can be read on other nodes. */
    static final int PART_REDUCED = 2;

    /** The rank's copies of other ranks' results can be read on its node. */
    static final int RELAYED = 3;

    /** The rank reads nobody's buffers any more. */
    static final int ENDED = 4;

    private Flags() {}
}
