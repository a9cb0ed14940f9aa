package org.jccl.simulation;

import org.jspecify.annotations.Nullable;

import java.util.Arrays;

/**
 * When the cells of a caller's buffer were written, in its owner's time, and when other ranks have
 * read them, in theirs.
 */
final class Accesses {
    private final int[] writtenAt;
    private final int @Nullable [][] readAt;

    Accesses(int cells, int nRanks) {
        writtenAt = new int[cells];
        readAt = new int[nRanks][];
    }

    /** Another rank reads a cell; its clock says how much it knows of the owner. */
    void read(int cell, int owner, int reader, int[] clock) {
        if (writtenAt[cell] > clock[owner]) {
            throw new Violation(
                    "reads element " + cell + " of rank " + owner + "'s caller before being told");
        }
        int[] times = readAt[reader];
        if (times == null) {
            times = new int[writtenAt.length];
            readAt[reader] = times;
        }
        times[cell] = clock[reader];
    }

    /** The owner overwrites these cells, or gives them back to its caller. */
    private void require(int from, int end, int[] clock) {
        for (int reader = 0; reader < readAt.length; reader++) {
            int[] times = readAt[reader];
            for (int cell = from; times != null && cell < end; cell++) {
                if (times[cell] > clock[reader]) {
                    throw new Violation(
                            "element "
                                    + cell
                                    + " of the caller is written, or given back, without knowing"
                                    + " that rank "
                                    + reader
                                    + " has read it");
                }
            }
        }
    }

    /** The owner writes cells. */
    void write(int from, int n, int owner, int[] clock) {
        require(from, from + n, clock);
        Arrays.fill(writtenAt, from, from + n, clock[owner]);
    }

    /** The owner gives everything back to its caller. */
    void end(int[] clock) {
        require(0, writtenAt.length, clock);
    }
}
