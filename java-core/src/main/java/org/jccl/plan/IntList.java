package org.jccl.plan;

import java.util.Arrays;

/** A growing array of ints. */
final class IntList {
    private int[] items = new int[32];
    private int size;

    void add(int item) {
        if (size == items.length) {
            items = Arrays.copyOf(items, 2 * size);
        }
        items[size++] = item;
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
