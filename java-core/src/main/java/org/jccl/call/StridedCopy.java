package org.jccl.call;

import org.jccl.platform.Memory;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * A copy of the elements of one array into another of the same extents, each with its own distances
 * between elements. Extents that are contiguous in both arrays are copied as one run. The two must
 * not overlap. {@link #of} makes one, which has not been made yet.
 *
 * @param from address of the first element
 * @param to address to which the first element goes
 * @param runBytes bytes of a run, 0 if there are no elements
 * @param extents of the runs, the outermost first
 */
public record StridedCopy(long from, long to, long runBytes, List<Extent> extents) {
    /**
     * A dimension of both arrays.
     *
     * @param count elements along it
     * @param fromStride bytes from one element to the next in the source
     * @param toStride the same in the destination
     */
    public record Extent(long count, long fromStride, long toStride) {}

    /**
     * A copy that has not been made yet.
     *
     * @param from address of the first element
     * @param to address to which the first element goes
     * @param elementBytes bytes of an element
     * @param dimensions in any order
     */
    public static StridedCopy of(long from, long to, long elementBytes, List<Extent> dimensions) {
        List<Extent> extents = new ArrayList<>(dimensions);
        extents.removeIf(extent -> extent.count <= 1);
        // The order of the elements does not matter; writes that go upwards are fastest.
        extents.sort(Comparator.comparingLong(extent -> Math.abs(extent.toStride)));
        // The innermost one is the run of bytes.
        List<Extent> merged = new ArrayList<>(List.of(new Extent(elementBytes, 1, 1)));
        for (Extent next : extents) {
            Extent inner = merged.getFirst();
            if (next.fromStride == inner.count * inner.fromStride
                    && next.toStride == inner.count * inner.toStride) {
                long count = next.count * inner.count;
                merged.set(0, new Extent(count, inner.fromStride, inner.toStride));
            } else {
                merged.addFirst(next);
            }
        }
        boolean empty = dimensions.stream().anyMatch(extent -> extent.count == 0);
        long run = empty ? 0 : merged.getLast().count;
        merged.removeLast();
        return new StridedCopy(from, to, run, List.copyOf(merged));
    }

    /** Copies. */
    public void run() {
        if (runBytes > 0) {
            copy(0, from, to);
        }
    }

    private void copy(int depth, long source, long destination) {
        if (depth == extents.size()) {
            Memory.copy(source, destination, runBytes);
            return;
        }
        Extent extent = extents.get(depth);
        boolean innermost = depth == extents.size() - 1;
        for (long i = 0; i < extent.count; i++) {
            long from = source + i * extent.fromStride;
            long to = destination + i * extent.toStride;
            if (innermost) {
                copyRun(from, to);
            } else {
                copy(depth + 1, from, to);
            }
        }
    }

    /** A run, most often of one element; for these, a call of {@link Memory#copy} takes longer. */
    private void copyRun(long source, long destination) {
        if (runBytes == 4) {
            Memory.putInt(destination, Memory.getInt(source));
        } else if (runBytes == 8) {
            Memory.putLong(destination, Memory.getLong(source));
        } else if (runBytes == 2) {
            Memory.putShort(destination, Memory.getShort(source));
        } else if (runBytes == 1) {
            Memory.putByte(destination, Memory.getByte(source));
        } else {
            Memory.copy(source, destination, runBytes);
        }
    }
}
