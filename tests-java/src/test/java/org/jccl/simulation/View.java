package org.jccl.simulation;

import java.util.Arrays;

/**
 * What one rank (the reader) sees of another's areas, in cells of one element. Times are the
 * owner's for writes and the reader's for reads.
 */
final class View {
    private final long[] terms;
    private final int[] writtenAt;
    private final int[] readAt;
    private final int[] call;

    View(int cells) {
        terms = new long[cells];
        writtenAt = new int[cells];
        readAt = new int[cells];
        call = new int[cells];
    }

    /**
     * Overwrites cells.
     *
     * @param from the first cell
     * @param what their terms from now on
     * @param knownOfReader the reader's latest time of which the writer knew
     * @return -1, or a cell whose last read the writer did not know of; then nothing is written
     */
    int write(int from, long[] what, int inCall, int time, int knownOfReader) {
        int end = from + what.length;
        for (int cell = from; cell < end; cell++) {
            if (readAt[cell] > knownOfReader) {
                return cell;
            }
        }
        System.arraycopy(what, 0, terms, from, what.length);
        Arrays.fill(call, from, end, inCall);
        Arrays.fill(writtenAt, from, end, time);
        Arrays.fill(readAt, from, end, 0);
        return -1;
    }

    /** Whether somebody has read the cell since it was last written. */
    boolean wasRead(int cell) {
        return readAt[cell] != 0;
    }

    /** Whether what was written then has come, and was read at a time that is known. */
    boolean wasRead(int cell, int written, int knownOfReader) {
        return writtenAt[cell] == written && wasRead(cell) && readAt[cell] <= knownOfReader;
    }

    /** The cell as it is. */
    long seen(int cell) {
        return terms[cell];
    }

    /** The cell, marked as read at this time. */
    long read(int cell, int time) {
        readAt[cell] = time;
        return terms[cell];
    }

    int writtenAt(int cell) {
        return writtenAt[cell];
    }

    int call(int cell) {
        return call[cell];
    }
}
