package org.jccl.collective;

/**
 * A range of bytes cut into consecutive slices that begin at multiples of a unit and differ by at
 * most one (the last may be shorter still). Where there are fewer units than slices, the last
 * slices are empty.
 *
 * @param bytes length of the range
 * @param parts number of slices
 * @param unit in bytes
 */
record Slices(long bytes, int parts, long unit) {
    /** A cache line, the usual unit: no line is written by two ranks. */
    static final int LINE_BYTES = 64;

    /** Slices that begin at lines. */
    Slices(long bytes, int parts) {
        this(bytes, parts, LINE_BYTES);
    }

    /** {@code bytes}, more than 0, cut into as few slices of at most {@code maxBytes} as can be. */
    static Slices atMost(long bytes, long maxBytes) {
        long linesEach = maxBytes / LINE_BYTES;
        if (linesEach == 0) {
            throw new IllegalArgumentException("slices of " + maxBytes + " bytes");
        }
        long lines = Math.ceilDiv(bytes, LINE_BYTES);
        return new Slices(bytes, Math.toIntExact(Math.ceilDiv(lines, linesEach)));
    }

    /** {@code bytes} cut into slices of {@code each}, of which the last may be shorter. */
    static Slices ofEach(long bytes, long each) {
        return new Slices(bytes, Math.toIntExact(Math.ceilDiv(bytes, each)), each);
    }

    /** Where slice {@code i} begins; for i == parts, where the last one ends. */
    long start(int i) {
        long units = Math.ceilDiv(bytes, unit);
        long start = units / parts * i + Math.min(i, units % parts);
        return Math.min(bytes, start * unit);
    }

    /** Bytes of slice {@code i}. */
    long length(int i) {
        return start(i + 1) - start(i);
    }

    /** Bytes of the longest slice, rounded up to the unit. */
    long stride() {
        return Math.ceilDiv(Math.ceilDiv(bytes, unit), parts) * unit;
    }

    /** {@code bytes} rounded up to whole lines. */
    static long align(long bytes) {
        return Math.ceilDiv(bytes, LINE_BYTES) * LINE_BYTES;
    }
}
