package org.jccl.cuda;

import org.jccl.platform.Memory;
import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongUnaryOperator;

/**
 * Host memory that all GPUs of this process can reach. The driver frees such memory only when the
 * GPUs have nothing to do, and until then no other thread can give them anything: a stream that
 * waits for another rank would wait for ever. So nothing goes back to the driver; what is freed
 * serves again.
 */
final class PinnedMemory {
    /** How much larger than what is asked for the memory may be that serves again. */
    private static final int MOST_TIMES = 4;

    /** The smallest memory, a cache line, and the smallest of more than that. */
    private static final long LINE = 64;

    private static final long SMALL = 4096;

    /** How many pieces of these sizes there are in an allocation: each takes long. */
    private static final int PIECES = 64;

    /** By their sizes, the addresses of what nobody uses. Guarded by this, as the next. */
    private final TreeMap<Long, ArrayDeque<Long>> spare = new TreeMap<>();

    /** By address, the size of all that there is. */
    private final Map<Long, Long> sizes = new HashMap<>();

    private final LongUnaryOperator source;

    /**
     * @param source gets a number of bytes and gives the address of so many new ones
     */
    PinnedMemory(LongUnaryOperator source) {
        this.source = source;
    }

    /** Memory of at least this size, at least one byte: zeroed, or as it was given back. */
    long take(long bytes) {
        long size = bytes <= LINE ? LINE : Math.max(bytes, SMALL);
        Long address;
        synchronized (this) {
            address = takeSpare(size);
        }
        return address == null ? allocate(size, size <= SMALL ? PIECES : 1) : address;
    }

    /** The first of some pieces; the others are spare. */
    private long allocate(long bytes, int pieces) {
        long first = source.applyAsLong(pieces * bytes);
        Memory.fill(first, pieces * bytes, (byte) 0);
        synchronized (this) {
            for (int i = 0; i < pieces; i++) {
                sizes.put(first + i * bytes, bytes);
            }
            for (int i = 1; i < pieces; i++) {
                giveBack(first + i * bytes);
            }
        }
        return first;
    }

    private @Nullable Long takeSpare(long bytes) {
        Map.Entry<Long, ArrayDeque<Long>> smallest = spare.ceilingEntry(bytes);
        if (smallest == null || smallest.getKey() / MOST_TIMES > bytes) {
            return null;
        }
        Long address = smallest.getValue().remove();
        if (smallest.getValue().isEmpty()) {
            spare.remove(smallest.getKey());
        }
        return address;
    }

    /** Takes back what {@link #take} gave; no stream uses it any more. */
    synchronized void giveBack(long address) {
        Long bytes = sizes.get(address);
        if (bytes == null) {
            throw new IllegalStateException(
                    "0x" + Long.toHexString(address) + " was not allocated here");
        }
        spare.computeIfAbsent(bytes, size -> new ArrayDeque<>()).push(address);
    }
}
