package org.jccl.platform;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * All of the process's memory by absolute address. Nothing is checked: a wrong address is SIGSEGV.
 * Atomic accesses need natural alignment, plain ones none.
 */
@SuppressWarnings("restricted")
public final class Memory {
    /**
     * The whole address space as one segment; offsets are addresses. Loops that C2 is to vectorise
     * call its methods, which C2 always inlines. A method of this class is inlined only if the
     * profile shows enough calls from that place, and code that the first compiler made without a
     * profile adds none to it.
     */
    public static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    private static final VarHandle INTS =
            ValueLayout.JAVA_INT.varHandle().withInvokeExactBehavior();
    private static final VarHandle LONGS =
            ValueLayout.JAVA_LONG.varHandle().withInvokeExactBehavior();

    /** Bytes of one range in a list for a system call: its address and its length. */
    public static final int RANGE_BYTES = 16;

    private Memory() {}

    /** The byte there. */
    public static byte getByte(long address) {
        return ALL.get(ValueLayout.JAVA_BYTE, address);
    }

    /** Stores a byte. */
    public static void putByte(long address, byte value) {
        ALL.set(ValueLayout.JAVA_BYTE, address, value);
    }

    /** The 16 bits there. */
    public static short getShort(long address) {
        return ALL.get(ValueLayout.JAVA_SHORT_UNALIGNED, address);
    }

    /** Stores 16 bits. */
    public static void putShort(long address, short value) {
        ALL.set(ValueLayout.JAVA_SHORT_UNALIGNED, address, value);
    }

    /** The 32 bits there. */
    public static int getInt(long address) {
        return ALL.get(ValueLayout.JAVA_INT_UNALIGNED, address);
    }

    /** Stores 32 bits. */
    public static void putInt(long address, int value) {
        ALL.set(ValueLayout.JAVA_INT_UNALIGNED, address, value);
    }

    /** The 64 bits there. */
    public static long getLong(long address) {
        return ALL.get(ValueLayout.JAVA_LONG_UNALIGNED, address);
    }

    /** Stores 64 bits. */
    public static void putLong(long address, long value) {
        ALL.set(ValueLayout.JAVA_LONG_UNALIGNED, address, value);
    }

    /** Stores one range of a list for a system call. */
    public static void putRange(long entry, long address, long bytes) {
        putLong(entry, address);
        putLong(entry + 8, bytes);
    }

    /** Reads in program order with this thread's other opaque and stronger accesses. */
    public static int getIntOpaque(long address) {
        return (int) INTS.getOpaque(ALL, address);
    }

    /** Reads with acquire: what the writer stored before its release is visible afterwards. */
    public static int getIntAcquire(long address) {
        return (int) INTS.getAcquire(ALL, address);
    }

    /** Stores with release. */
    public static void putIntRelease(long address, int value) {
        INTS.setRelease(ALL, address, value);
    }

    /** Reads with acquire. */
    public static long getLongAcquire(long address) {
        return (long) LONGS.getAcquire(ALL, address);
    }

    /** Stores with release. */
    public static void putLongRelease(long address, long value) {
        LONGS.setRelease(ALL, address, value);
    }

    /** Sequentially consistent exchange; the value before. */
    public static int getAndSetInt(long address, int value) {
        return (int) INTS.getAndSet(ALL, address, value);
    }

    /** Sequentially consistent addition; the value before. */
    public static int getAndAddInt(long address, int delta) {
        return (int) INTS.getAndAdd(ALL, address, delta);
    }

    /** Copies bytes; the ranges may overlap. */
    public static void copy(long source, long destination, long bytes) {
        MemorySegment.copy(ALL, source, ALL, destination, bytes);
    }

    /** Copies into an array. */
    public static void copyOut(long source, byte[] destination, int offset, int bytes) {
        MemorySegment.copy(ALL, ValueLayout.JAVA_BYTE, source, destination, offset, bytes);
    }

    /** Copies from an array. */
    public static void copyIn(byte[] source, int offset, long destination, int bytes) {
        MemorySegment.copy(source, offset, ALL, ValueLayout.JAVA_BYTE, destination, bytes);
    }

    /** Fills bytes. Makes an object, unless C2 removes it: for what is done seldom. */
    public static void fill(long address, long bytes, byte value) {
        ALL.asSlice(address, bytes).fill(value);
    }

    /** The text up to the NUL, as UTF-8. */
    public static String string(long address) {
        return ALL.getString(address);
    }
}
