package org.jccl.plan;

import java.util.Arrays;

/** A growing array of ints. */
final class IntList {
    private int[] items = new int[32];
    private int size;

    /** Appends the items. */
    void add(int... more) {
        if (size + more.length > items.length) {
            items = Arrays.copyOf(items, 2 * items.length + more.length);
        }
        System.arraycopy(more, 0, items, size, more.length);
        size += more.length;
    }

    int get(int index) {
        return items[index];
    }

    void set(int index, int item) {
        items[index] = item;
    }

    int size() {
        return size;
    }

    int[] toArray() {
        return Arrays.copyOf(items, size);
    }
}
