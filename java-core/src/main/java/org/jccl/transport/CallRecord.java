package org.jccl.transport;

import org.jccl.platform.Memory;
import org.jccl.type.DataType;
import org.jccl.type.Operation;
import org.jccl.type.RedOp;

/**
 * What a rank calls: published in its region, so that ranks that called differently can both name
 * both calls.
 *
 * <p>Record in a region: long call number, long description, long count, and long input, the
 * address of the caller's buffer in the process of the rank. The description packs operation, type,
 * reduction operation and root.
 */
public final class CallRecord {
    /** Where a reduction operation would stand: the call is part of a split. */
    public static final int SPLIT = 0x80;

    /** Where a reduction operation would stand: the call consists of sends and receives. */
    public static final int EXCHANGE = 0x81;

    /**
     * Where a reduction operation would stand: each rank multiplies by a factor of its own first.
     */
    public static final int PRE_MUL_SUM = 0x82;

    private static final int INPUT = 24;

    private CallRecord() {}

    /** Packs a call into one word; {@code redOp} and {@code root} are 0 where they mean nothing. */
    public static long describe(int operation, int dataType, int redOp, int root) {
        return (long) operation << 48 | (long) dataType << 40 | (long) redOp << 32 | root;
    }

    /** A hash of the call; equal calls have equal hashes. */
    public static int hash(long description, long count) {
        long h = description * 0x9e3779b97f4a7c15L ^ count * 0xc2b2ae3d27d4eb4fL;
        h ^= h >>> 29;
        h *= 0xbf58476d1ce4e5b9L;
        return (int) (h ^ h >>> 32);
    }

    /** The word that stands for call {@code number}. */
    public static long word(long number, int hash) {
        return number << 32 | Integer.toUnsignedLong(hash);
    }

    /** Writes the record of a call into the region at {@code base}. */
    public static void write(long base, long number, long description, long count) {
        long at = at(base, number);
        Memory.putLong(at + 8, description);
        Memory.putLong(at + 16, count);
        Memory.putLongRelease(at, number);
    }

    /**
     * Writes the address of a call's input, whether or not anybody reads it; its record follows.
     */
    public static void writeInput(long base, long number, long input) {
        Memory.putLong(at(base, number) + INPUT, input);
    }

    /**
     * The address of the input of a rank's caller, in the process of that rank. The rank must have
     * signalled from this call.
     *
     * @return 0 if the record is of another call
     */
    public static long input(long base, long number) {
        long at = at(base, number);
        return Memory.getLongAcquire(at) == number ? Memory.getLong(at + INPUT) : 0;
    }

    /**
     * Reads the record of call {@code number}; the text says what the rank called, or that it is
     * not known any more.
     */
    public static String read(long base, long number) {
        long at = at(base, number);
        if (Memory.getLongAcquire(at) != number) {
            return "a call that is no longer recorded";
        }
        return text(number, Memory.getLong(at + 8), Memory.getLong(at + 16));
    }

    /** A call in words. */
    public static String text(long number, long description, long count) {
        int redOp = (int) (description >>> 32) & 0xff;
        if (redOp == SPLIT) {
            return "call " + number + " ncclCommSplit";
        }
        Operation operation = Operation.of((int) (description >>> 48));
        StringBuilder text = new StringBuilder("call ").append(number).append(' ');
        text.append(begun(description, count));
        if (operation != null && operation.reduces()) {
            text.append(", ").append(name(redOp));
        }
        if (operation != null && operation.rooted()) {
            text.append(", root ").append((int) description);
        }
        if (redOp == EXCHANGE) {
            text.append(", as sends and receives");
        }
        return text.append(')').toString();
    }

    private static String name(int redOp) {
        if (redOp == PRE_MUL_SUM) {
            return "premultiplied ncclSum";
        }
        return RedOp.isValid(redOp) ? RedOp.of(redOp).ncclName() : "op ?";
    }

    /** A send or receive in words. */
    public static String pointToPointText(long description, long count) {
        return begun(description, count) + ", peer " + (int) description + ")";
    }

    /** What the texts of all operations begin with. */
    private static String begun(long description, long count) {
        Operation operation = Operation.of((int) (description >>> 48));
        int type = (int) (description >>> 40) & 0xff;
        String name = operation == null ? "unknown" : "nccl" + operation.ncclName();
        String element = DataType.isValid(type) ? DataType.of(type).ncclName() : "type " + type;
        return name + "(" + count + " x " + element;
    }

    private static long at(long base, long number) {
        int slot = (int) (number & (RegionLayout.RECORD_COUNT - 1));
        return base + RegionLayout.RECORDS + (long) slot * RegionLayout.RECORD_BYTES;
    }
}
