package org.jccl.reduce;

import static org.jccl.platform.Memory.ALL;

import org.jccl.type.DataType;
import org.jccl.type.RedOp;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;

/**
 * The template of staged kernels, used only through copies ({@link Kind}): tile by tile, copy to
 * the heap, fold in loops over arrays, copy back. C2 vectorises such loops, but none that loads
 * from and stores to native memory, whose addresses may alias. Warm after a few calls, at about
 * half of a vector kernel's speed. A few elements are folded one by one.
 *
 * <p>The narrow floats are a load and a store around a fold of float32.
 */
final class StagedTemplate extends Kernel {
    private static final ValueLayout.OfByte I8 = ValueLayout.JAVA_BYTE;
    private static final ValueLayout.OfShort I16 = ValueLayout.JAVA_SHORT_UNALIGNED;
    private static final ValueLayout.OfInt I32 = ValueLayout.JAVA_INT_UNALIGNED;
    private static final ValueLayout.OfLong I64 = ValueLayout.JAVA_LONG_UNALIGNED;
    private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;
    private static final ValueLayout.OfDouble F64 = ValueLayout.JAVA_DOUBLE_UNALIGNED;

    /** Up to this many elements a plain loop is faster than the copies. */
    private static final int ONE_BY_ONE = 16;

    private static final Kind KIND = Kind.of(MethodHandles.lookup());
    private static final DataType TYPE = KIND.type();
    private static final int SIZE = TYPE.sizeBytes();
    private static final @Nullable NarrowFloat NARROW = NarrowFloat.of(TYPE);
    private static final boolean IS_FLOAT = NARROW != null || TYPE == DataType.FLOAT32;
    private static final boolean IS_DOUBLE = TYPE == DataType.FLOAT64;
    private static final boolean UNSIGNED = KIND.isUnsigned();
    private static final boolean MULTIPLIES = KIND.op() == RedOp.PROD;
    private static final boolean TAKES_MAX = KIND.op() == RedOp.MAX;
    private static final boolean COMPARES = TAKES_MAX || KIND.op() == RedOp.MIN;
    private static final boolean AVERAGES = KIND.op() == RedOp.AVG;

    /** Turns unsigned numbers into signed ones of the same order. */
    private static final int FLIP = TYPE == DataType.UINT32 ? Integer.MIN_VALUE : 0;

    private static final long LONG_FLIP = TYPE == DataType.UINT64 ? Long.MIN_VALUE : 0;

    @Override
    void fold(long dst, long[] sources, int n, int divisor, long first, long count) {
        long next = first;
        if (count - first > ONE_BY_ONE) {
            // Tiles of narrow floats are whole ints.
            next = count - (count - first) % (NARROW == null ? 1 : NARROW.inInt());
            foldTiles(dst, sources, n, divisor, first, next);
        }
        for (long at = next * SIZE; at < count * SIZE; at += SIZE) {
            if (IS_FLOAT) {
                foldFloat(dst, sources, n, divisor, at);
            } else if (IS_DOUBLE) {
                foldDouble(dst, sources, n, divisor, at);
            } else {
                foldInteger(dst, sources, n, divisor, at);
            }
        }
    }

    private static void foldFloat(long dst, long[] sources, int n, int divisor, long at) {
        float x = getFloat(sources[0] + at);
        for (int k = 1; k < n; k++) {
            x = combine(x, getFloat(sources[k] + at));
        }
        putFloat(dst + at, AVERAGES ? x / divisor : x);
    }

    private static void foldDouble(long dst, long[] sources, int n, int divisor, long at) {
        double x = ALL.get(F64, sources[0] + at);
        for (int k = 1; k < n; k++) {
            x = combine(x, ALL.get(F64, sources[k] + at));
        }
        ALL.set(F64, dst + at, AVERAGES ? x / divisor : x);
    }

    private static void foldInteger(long dst, long[] sources, int n, int divisor, long at) {
        long x = getLong(sources[0] + at);
        for (int k = 1; k < n; k++) {
            x = combine(x, getLong(sources[k] + at));
        }
        putLong(dst + at, AVERAGES ? divide(wrap(x), divisor) : x);
    }

    private static float getFloat(long address) {
        return NARROW == null ? ALL.get(F32, address) : NARROW.widen(getBits(address));
    }

    private static void putFloat(long address, float value) {
        if (NARROW == null) {
            ALL.set(F32, address, value);
        } else {
            putLong(address, NARROW.round(value));
        }
    }

    private static int getBits(long address) {
        return SIZE == 2 ? ALL.get(I16, address) : ALL.get(I8, address);
    }

    private static long getLong(long address) {
        return SIZE == 8 ? ALL.get(I64, address) : getInt(address);
    }

    private static long getInt(long address) {
        return SIZE == 4 ? extend(ALL.get(I32, address)) : extend(ALL.get(I8, address));
    }

    private static void putLong(long address, long value) {
        switch (SIZE) {
            case 8 -> ALL.set(I64, address, value);
            case 4 -> ALL.set(I32, address, (int) value);
            case 2 -> ALL.set(I16, address, (short) value);
            default -> ALL.set(I8, address, (byte) value);
        }
    }

    /** The number of the type whose lower bits these are. */
    private static long wrap(long x) {
        return SIZE == 8 ? x : SIZE == 4 ? extend((int) x) : extend((byte) x);
    }

    private static long extend(int x) {
        return UNSIGNED ? Integer.toUnsignedLong(x) : x;
    }

    private static int extend(byte x) {
        return UNSIGNED ? Byte.toUnsignedInt(x) : x;
    }

    // The operation, for each type that is folded as it is. Short enough for C1 to inline.

    private static float combine(float x, float y) {
        return COMPARES ? choose(x, y) : MULTIPLIES ? x * y : x + y;
    }

    private static float choose(float x, float y) {
        return TAKES_MAX ? Math.max(x, y) : Math.min(x, y);
    }

    private static double combine(double x, double y) {
        return COMPARES ? choose(x, y) : MULTIPLIES ? x * y : x + y;
    }

    private static double choose(double x, double y) {
        return TAKES_MAX ? Math.max(x, y) : Math.min(x, y);
    }

    private static int combine(int x, int y) {
        return COMPARES ? choose(x ^ FLIP, y ^ FLIP) ^ FLIP : MULTIPLIES ? x * y : x + y;
    }

    private static int choose(int x, int y) {
        return TAKES_MAX ? Math.max(x, y) : Math.min(x, y);
    }

    private static long combine(long x, long y) {
        return COMPARES ? choose(x, y) : MULTIPLIES ? x * y : x + y;
    }

    private static long choose(long x, long y) {
        long a = x ^ LONG_FLIP;
        long b = y ^ LONG_FLIP;
        return (TAKES_MAX ? Math.max(a, b) : Math.min(a, b)) ^ LONG_FLIP;
    }

    /** Quotients of integers are truncated toward zero. */
    private static long divide(long x, int divisor) {
        return UNSIGNED ? Long.divideUnsigned(x, divisor) : x / divisor;
    }

    private static void foldTiles(
            long dst, long[] sources, int n, int divisor, long first, long end) {
        Tiles tiles = Tiles.of(TYPE);
        for (long i = first; i < end; i += tiles.elements) {
            int m = (int) Math.min(tiles.elements, end - i);
            long at = i * SIZE;
            load(tiles, tiles.sum, sources[0] + at, m);
            for (int k = 1; k < n; k++) {
                load(tiles, tiles.next, sources[k] + at, m);
                combine(tiles.sum, tiles.next, m);
            }
            if (AVERAGES) {
                divide(tiles.sum, divisor, m);
            }
            if (NARROW == null) {
                MemorySegment.copy(tiles.sum, 0, ALL, tiles.layout, dst + at, m);
            } else {
                NARROW.round(tiles, dst + at, m);
            }
        }
    }

    private static void load(Tiles tiles, Object to, long from, int m) {
        if (NARROW == null) {
            MemorySegment.copy(ALL, tiles.layout, from, to, 0, m);
        } else {
            NARROW.widen(tiles, (float[]) to, from, m);
        }
    }

    private static void combine(Object x, Object y, int m) {
        if (IS_FLOAT) {
            combine((float[]) x, (float[]) y, m);
        } else if (IS_DOUBLE) {
            combine((double[]) x, (double[]) y, m);
        } else if (SIZE == 8) {
            combine((long[]) x, (long[]) y, m);
        } else if (SIZE == 4) {
            combine((int[]) x, (int[]) y, m);
        } else {
            combine((byte[]) x, (byte[]) y, m);
        }
    }

    private static void combine(byte[] x, byte[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = (byte) combine(extend(x[i]), extend(y[i]));
        }
    }

    private static void combine(int[] x, int[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = combine(x[i], y[i]);
        }
    }

    private static void combine(long[] x, long[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = combine(x[i], y[i]);
        }
    }

    private static void combine(float[] x, float[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = combine(x[i], y[i]);
        }
    }

    private static void combine(double[] x, double[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = combine(x[i], y[i]);
        }
    }

    private static void divide(Object x, int divisor, int m) {
        if (IS_FLOAT) {
            divide((float[]) x, divisor, m);
        } else if (IS_DOUBLE) {
            divide((double[]) x, divisor, m);
        } else if (SIZE == 8) {
            divide((long[]) x, divisor, m);
        } else if (SIZE == 4) {
            divide((int[]) x, (double) divisor, m);
        } else {
            divide((byte[]) x, (float) divisor, m);
        }
    }

    /** As {@link #divide(int[], int, int)}, whose double is here a float. */
    private static void divide(byte[] x, float divisor, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = (byte) (int) (extend(x[i]) / divisor);
        }
    }

    /**
     * By floating point, which has vector instructions. Exact: a quotient that is no integer is
     * farther from the next one than 53 bits can be off.
     */
    private static void divide(int[] x, double divisor, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = UNSIGNED ? (int) (long) (extend(x[i]) / divisor) : (int) (x[i] / divisor);
        }
    }

    private static void divide(long[] x, int divisor, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = divide(x[i], divisor);
        }
    }

    private static void divide(float[] x, int divisor, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = x[i] / divisor;
        }
    }

    private static void divide(double[] x, int divisor, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = x[i] / divisor;
        }
    }
}
