package org.jccl.abi;

import org.jccl.comm.Comm;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.util.Arrays;

/**
 * Finds communicators by the number that C callers hold as a pointer. No number is given twice, so
 * a destroyed or invented one is recognised.
 *
 * <p>A number is a generation from bit 32 up, a slot from bit 4 up, and in the lowest bits a mark
 * that no aligned pointer has.
 */
final class Handles {
    private static final long MARK = 0xd;
    private static final int SLOT_SHIFT = 4;
    private static final int GENERATION_SHIFT = 32;
    private static final int FIRST_SLOTS = 16;

    /** The most communicators that nobody has destroyed, failed ones included. */
    private static final int MOST = 1 << 16;

    private record Entry(long handle, Comm comm) {}

    /** Replaced to grow, and each entry as a whole, so readers need no lock (volatile). */
    private static volatile @Nullable Entry[] entries = new Entry[FIRST_SLOTS];

    /** No slot before it is free; guarded by the class. */
    private static int firstFree;

    /** Guarded by the class, as are writes to entries. */
    private static long generation;

    private Handles() {}

    static synchronized long add(Comm comm) {
        @Nullable Entry[] table = entries;
        int slot = firstFree;
        while (slot < table.length && table[slot] != null) {
            slot++;
        }
        if (slot == MOST) {
            throw ErrorKind.TOO_MANY_PENDING.says(
                    "there are %s communicators that were not destroyed; destroy or abort "
                            + "some",
                    MOST);
        }
        if (slot == table.length) {
            table = Arrays.copyOf(table, 2 * table.length);
        }
        firstFree = slot + 1;
        generation++;
        long handle = generation << GENERATION_SHIFT | (long) slot << SLOT_SHIFT | MARK;
        table[slot] = new Entry(handle, comm);
        entries = table;
        return handle;
    }

    /** Forgets a handle; true only for the caller that did so. */
    static synchronized boolean remove(long handle) {
        if (find(handle) == null) {
            return false;
        }
        @Nullable Entry[] table = entries;
        int slot = slot(handle);
        table[slot] = null;
        firstFree = Math.min(firstFree, slot);
        entries = table;
        return true;
    }

    /** All communicators that have not been destroyed. */
    static synchronized Comm[] all() {
        return Arrays.stream(entries)
                .filter(java.util.Objects::nonNull)
                .map(Entry::comm)
                .toArray(Comm[]::new);
    }

    /**
     * The communicator with this handle.
     *
     * @throws NcclException INVALID_ARGUMENT if it is null, was destroyed, or never was a handle
     */
    static Comm get(long handle, String function) {
        Comm comm = find(handle);
        if (comm == null) {
            throw unknown(handle, function);
        }
        return comm;
    }

    /**
     * The same for a call of an operation.
     *
     * @param operation the number of one that there is
     */
    static Comm get(long handle, int operation) {
        Comm comm = find(handle);
        return comm != null
                ? comm
                : get(handle, Started.operation("Operation", operation).ncclName());
    }

    /** The communicator with this handle, or null. */
    static @Nullable Comm find(long handle) {
        @Nullable Entry[] table = entries;
        int slot = slot(handle);
        Entry entry = slot < table.length ? table[slot] : null;
        return entry != null && entry.handle == handle ? entry.comm : null;
    }

    private static NcclException unknown(long handle, String function) {
        if (handle == 0) {
            return ErrorKind.NULL_ARGUMENT.says(
                    "%s : comm argument is NULL; pass the handle of a communicator", function);
        }
        long age = handle >>> GENERATION_SHIFT;
        boolean once;
        synchronized (Handles.class) {
            once = (handle & 0xf) == MARK && age > 0 && age <= generation;
        }
        String named = function + " : comm 0x" + Long.toHexString(handle);
        return once
                ? ErrorKind.ALREADY_ENDED.says(
                        "%s has already been destroyed or aborted; destroy or abort it once, "
                                + "after its last use",
                        named)
                : ErrorKind.NOT_A_COMMUNICATOR.says(
                        "%s is not a communicator of this library (corrupted comm object "
                                + "detected); pass the handle that an init or split wrote, whole",
                        named);
    }

    private static int slot(long handle) {
        return (int) (handle >>> SLOT_SHIFT) & 0xfffffff;
    }
}
