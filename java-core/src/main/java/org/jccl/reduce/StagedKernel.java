package org.jccl.reduce;

import static org.jccl.platform.Memory.ALL;
import static org.jccl.reduce.Loops.MAX;
import static org.jccl.reduce.Loops.MIN;
import static org.jccl.reduce.Loops.PROD;

import static java.lang.Math.max;
import static java.lang.Math.min;

import org.jccl.platform.Memory;
import org.jccl.type.DataType;
import org.jccl.type.RedOp;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;

/**
 * A kernel that needs nothing but HotSpot: tile by tile, copy to the heap, fold in loops over
 * arrays, copy back. C2 vectorises such loops, but none that loads from and stores to native
 * memory, whose addresses may alias. Warm after a few calls, at about half of a vector kernel's
 * speed. A few elements are folded one by one.
 *
 * <p>The narrow floats are a load and a store around a fold of float32.
 */
final class StagedKernel extends Kernel {
    /** Up to this many elements a plain loop is faster than the copies. */
    static final int ONE_BY_ONE = 16;

    private final DataType type;
    private final int size;
    private final @Nullable NarrowFloat narrow;
    private final boolean isFloat;
    private final boolean isDouble;
    private final boolean isUnsigned;
    private final boolean averages;
    private final int op;

    /** The bits that {@link Loops} flips. */
    private final long flip;

    StagedKernel(DataType type, RedOp op) {
        this.type = type;
        this.size = type.sizeBytes();
        this.narrow = narrow(type);
        this.isFloat = narrow != null || type == DataType.FLOAT32;
        this.isDouble = type == DataType.FLOAT64;
        this.isUnsigned = type.isUnsigned();
        this.averages = op == RedOp.AVG;
        this.op = op.number();
        this.flip = (op == RedOp.MIN ? -1 : 0) ^ (isUnsigned ? -1L << (8 * size - 1) : 0);
    }

    /** The format of a type, or null if elements are folded as they are. */
    private static @Nullable NarrowFloat narrow(DataType type) {
        return switch (type) {
            case FLOAT16 -> new Float16();
            case BFLOAT16 -> new Bfloat16();
            case FLOAT8E4M3 -> Float8.E4M3;
            case FLOAT8E5M2 -> Float8.E5M2;
            default -> null;
        };
    }

    /** The size of an element. */
    int elementBytes() {
        return size;
    }

    @Override
    void fold(long dst, long[] sources, int n, int divisor, long first, long count) {
        long next = first;
        if (count - first > ONE_BY_ONE) {
            // Tiles are even, so that two narrow floats can be one int.
            next = count - (count - first) % 2;
            foldTiles(dst, sources, n, divisor, first, next);
        }
        for (long at = next * size; at < count * size; at += size) {
            if (isFloat) {
                foldFloat(dst, sources, n, divisor, at);
            } else if (isDouble) {
                foldDouble(dst, sources, n, divisor, at);
            } else {
                foldInteger(dst, sources, n, divisor, at);
            }
        }
    }

    /** dst = dst / divisor. For averages. */
    void divide(long dst, int divisor, long count) {
        long[] self = Tiles.of(type).self;
        self[0] = dst;
        fold(dst, self, 1, divisor, 0, count);
    }

    private void foldFloat(long dst, long[] sources, int n, int divisor, long at) {
        float x = getFloat(sources[0] + at);
        for (int k = 1; k < n; k++) {
            x = combine(op, x, getFloat(sources[k] + at));
        }
        x = averages ? x / divisor : x;
        putBits(dst + at, narrow == null ? Float.floatToRawIntBits(x) : narrow.round(x));
    }

    private float getFloat(long address) {
        int bits = (int) getBits(address);
        return narrow == null ? Float.intBitsToFloat(bits) : narrow.widen(bits);
    }

    private void foldDouble(long dst, long[] sources, int n, int divisor, long at) {
        double x = Double.longBitsToDouble(getBits(sources[0] + at));
        for (int k = 1; k < n; k++) {
            x = combine(op, x, Double.longBitsToDouble(getBits(sources[k] + at)));
        }
        putBits(dst + at, Double.doubleToRawLongBits(averages ? x / divisor : x));
    }

    private void foldInteger(long dst, long[] sources, int n, int divisor, long at) {
        long x = getBits(sources[0] + at);
        for (int k = 1; k < n; k++) {
            x = combine(op, flip, x, getBits(sources[k] + at));
        }
        putBits(dst + at, averages ? divide(x, divisor) : x);
    }

    /** Divides what is left of x in the type, toward zero. */
    private long divide(long x, int divisor) {
        int above = 64 - 8 * size;
        return isUnsigned
                ? Long.divideUnsigned(x << above >>> above, divisor)
                : (x << above >> above) / divisor;
    }

    static float combine(int op, float x, float y) {
        return op == PROD ? x * y : op == MAX ? max(x, y) : op == MIN ? min(x, y) : x + y;
    }

    static double combine(int op, double x, double y) {
        return op == PROD ? x * y : op == MAX ? max(x, y) : op == MIN ? min(x, y) : x + y;
    }

    static long combine(int op, long flip, long x, long y) {
        return op == MAX || op == MIN ? max(x ^ flip, y ^ flip) ^ flip : op == PROD ? x * y : x + y;
    }

    private long getBits(long address) {
        return switch (size) {
            case 8 -> Memory.getLong(address);
            case 4 -> Memory.getInt(address);
            case 2 -> Memory.getShort(address);
            default -> Memory.getByte(address);
        };
    }

    private void putBits(long address, long value) {
        switch (size) {
            case 8 -> Memory.putLong(address, value);
            case 4 -> Memory.putInt(address, (int) value);
            case 2 -> Memory.putShort(address, (short) value);
            default -> Memory.putByte(address, (byte) value);
        }
    }

    private void foldTiles(long dst, long[] sources, int n, int divisor, long first, long end) {
        Tiles tiles = Tiles.of(type);
        for (long i = first; i < end; i += tiles.elements) {
            int m = (int) Math.min(tiles.elements, end - i);
            long at = i * size;
            load(tiles, tiles.sum, sources[0] + at, m);
            for (int k = 1; k < n; k++) {
                load(tiles, tiles.next, sources[k] + at, m);
                combine(tiles.sum, tiles.next, m);
            }
            if (averages) {
                divide(tiles.sum, divisor, m);
            }
            if (narrow == null) {
                MemorySegment.copy(tiles.sum, 0, ALL, tiles.layout, dst + at, m);
            } else {
                narrow.round(tiles, dst + at, m);
            }
        }
    }

    private void load(Tiles tiles, Object to, long from, int m) {
        if (narrow == null) {
            MemorySegment.copy(ALL, tiles.layout, from, to, 0, m);
        } else {
            narrow.widen(tiles, (float[]) to, from, m);
        }
    }

    private void combine(Object x, Object y, int m) {
        if (x instanceof float[] floats) {
            Loops.combine(op, floats, (float[]) y, m);
        } else if (x instanceof double[] doubles) {
            Loops.combine(op, doubles, (double[]) y, m);
        } else if (x instanceof long[] longs) {
            Loops.combine(op, flip, longs, (long[]) y, m);
        } else if (x instanceof int[] ints) {
            Loops.combine(op, (int) flip, ints, (int[]) y, m);
        } else {
            Loops.combine(op, (int) flip, (byte[]) x, (byte[]) y, m);
        }
    }

    private void divide(Object x, int divisor, int m) {
        if (x instanceof float[] floats) {
            Loops.divide(floats, divisor, m);
        } else if (x instanceof double[] doubles) {
            Loops.divide(doubles, divisor, m);
        } else if (x instanceof long[] longs) {
            Loops.divide(longs, isUnsigned, divisor, m);
        } else if (x instanceof int[] ints) {
            Loops.divide(ints, isUnsigned, divisor, m);
        } else {
            Loops.divide((byte[]) x, isUnsigned ? 0xff : -1, divisor, m);
        }
    }
}
