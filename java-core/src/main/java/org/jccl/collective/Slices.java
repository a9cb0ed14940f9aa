package org.jccl.collective;

/**
 * A range of bytes cut into consecutive slices that begin at multiples of 64 bytes and differ by at
 * most 64 bytes (the last may be shorter still). Where there are fewer such units than slices, the
 * last slices are empty.
 *
 * @param bytes length of the range
 * @param parts number of slices
 */
record Slices(long bytes, int parts) {
    /** Slices begin at multiples of a cache line: no line is written by two ranks. */
    static final int UNIT_BYTES = 64;

    /** {@code bytes}, more than 0, cut into as few slices of at most {@code maxBytes} as can be. */
    static Slices atMost(long bytes, long maxBytes) {
        long unitsEach = maxBytes / UNIT_BYTES;
        if (unitsEach == 0) {
            throw new IllegalArgumentException("slices of " + maxBytes + " bytes");
        }
        return new Slices(bytes, Math.toIntExact((unitsOf(bytes) + unitsEach - 1) / unitsEach));
    }

    /** Where slice {@code i} begins; for i == parts, where the last one ends. */
    long start(int i) {
        long units = unitsOf(bytes);
        long start = units / parts * i + Math.min(i, units % parts);
        return Math.min(bytes, start * UNIT_BYTES);
    }

    /** Bytes of slice {@code i}. */
    long length(int i) {
        return start(i + 1) - start(i);
    }

    /** Bytes of the longest slice, rounded up to the unit. */
    long stride() {
        return (unitsOf(bytes) + parts - 1) / parts * UNIT_BYTES;
    }

    /** {@code bytes} rounded up to the unit. */
    static long align(long bytes) {
        return unitsOf(bytes) * UNIT_BYTES;
    }

    private static long unitsOf(long bytes) {
        return (bytes + UNIT_BYTES - 1) / UNIT_BYTES;
    }
}
