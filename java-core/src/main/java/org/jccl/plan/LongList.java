package org.jccl.plan;

import java.util.Arrays;

/** A growing array of longs. */
final class LongList {
    private long[] items = new long[32];
    private int size;

    /** Appends the items; the index of the first. */
    int add(long... more) {
        int at = size;
        if (size + more.length > items.length) {
            items = Arrays.copyOf(items, 2 * items.length + more.length);
        }
        System.arraycopy(more, 0, items, size, more.length);
        size += more.length;
        return at;
    }

    long get(int index) {
        return items[index];
    }

    void set(int index, long item) {
        items[index] = item;
    }

    int size() {
        return size;
    }

    long[] toArray() {
        return Arrays.copyOf(items, size);
    }

    /** The items as ints, which they must be. */
    int[] toInts() {
        return Arrays.stream(items, 0, size).mapToInt(Math::toIntExact).toArray();
    }
}
