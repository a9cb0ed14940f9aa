package org.jccl.reduce;

import static jdk.incubator.vector.VectorOperators.DIV;

import static org.jccl.platform.Memory.ALL;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

import java.lang.invoke.MethodHandles;

/**
 * The template of kernels for types that are folded as they are. Used only through copies ({@link
 * VectorKernel}). Every loop body is written out: a method called from a vector loop costs a factor
 * of twenty when C2 stops inlining.
 */
final class WideTemplate implements Fold {
    private static final VectorKernel KERNEL = VectorKernel.of(MethodHandles.lookup());
    private static final VectorOperators.Associative OPERATOR = KERNEL.operator();
    private static final boolean AVERAGES = KERNEL.averages();
    private static final VectorSpecies<Object> LONG = KERNEL.species(true);
    private static final int LONG_STEP = LONG.vectorByteSize();
    private static final int PAIR_STEP = 2 * LONG_STEP;

    /** For what is left after the last long vector, and for small counts. */
    private static final VectorSpecies<Object> SHORT = KERNEL.species(false);

    private static final int SHORT_STEP = SHORT.vectorByteSize();
    // Bytes are never divided, and may be fewer than there are sources: n is broadcast to divide.
    private static final int SIZE_BYTES = Fold.sizeBytes(KERNEL.dataType());

    @Override
    public void fold(int dataType, int redOp, long dst, long[] sources, int n, long count) {
        long bytes = count * SIZE_BYTES;
        long at =
                switch (KERNEL.sources()) {
                    case 2 -> two(dst, sources[0], sources[1], n, bytes);
                    case 3 -> three(dst, sources[0], sources[1], sources[2], n, bytes);
                    case 4 -> four(dst, sources[0], sources[1], sources[2], sources[3], n, bytes);
                    default -> many(dst, sources, n, bytes);
                };
        if (at != bytes) {
            ScalarFold.rest(
                    KERNEL.dataType(), KERNEL.redOp(), dst, sources, n, at / SIZE_BYTES, count);
        }
    }

    private static long two(long dst, long a, long b, int n, long bytes) {
        long at = 0;
        Vector<Object> longN = LONG.broadcast(AVERAGES ? n : 0);
        for (; at <= bytes - LONG_STEP; at += LONG_STEP) {
            Vector<Object> x = LONG.fromMemorySegment(ALL, a + at, LITTLE_ENDIAN);
            Vector<Object> y = LONG.fromMemorySegment(ALL, b + at, LITTLE_ENDIAN);
            Vector<Object> all = x.lanewise(OPERATOR, y);
            all = AVERAGES ? all.lanewise(DIV, longN) : all;
            all.intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        Vector<Object> shortN = SHORT.broadcast(AVERAGES ? n : 0);
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            Vector<Object> x = SHORT.fromMemorySegment(ALL, a + at, LITTLE_ENDIAN);
            Vector<Object> y = SHORT.fromMemorySegment(ALL, b + at, LITTLE_ENDIAN);
            Vector<Object> all = x.lanewise(OPERATOR, y);
            all = AVERAGES ? all.lanewise(DIV, shortN) : all;
            all.intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        return at;
    }

    private static long three(long dst, long a, long b, long c, int n, long bytes) {
        long at = 0;
        Vector<Object> longN = LONG.broadcast(AVERAGES ? n : 0);
        for (; at <= bytes - LONG_STEP; at += LONG_STEP) {
            Vector<Object> x = LONG.fromMemorySegment(ALL, a + at, LITTLE_ENDIAN);
            Vector<Object> y = LONG.fromMemorySegment(ALL, b + at, LITTLE_ENDIAN);
            Vector<Object> z = LONG.fromMemorySegment(ALL, c + at, LITTLE_ENDIAN);
            Vector<Object> all = x.lanewise(OPERATOR, y).lanewise(OPERATOR, z);
            all = AVERAGES ? all.lanewise(DIV, longN) : all;
            all.intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        Vector<Object> shortN = SHORT.broadcast(AVERAGES ? n : 0);
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            Vector<Object> x = SHORT.fromMemorySegment(ALL, a + at, LITTLE_ENDIAN);
            Vector<Object> y = SHORT.fromMemorySegment(ALL, b + at, LITTLE_ENDIAN);
            Vector<Object> z = SHORT.fromMemorySegment(ALL, c + at, LITTLE_ENDIAN);
            Vector<Object> all = x.lanewise(OPERATOR, y).lanewise(OPERATOR, z);
            all = AVERAGES ? all.lanewise(DIV, shortN) : all;
            all.intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        return at;
    }

    private static long four(long dst, long a, long b, long c, long d, int n, long bytes) {
        long at = 0;
        Vector<Object> longN = LONG.broadcast(AVERAGES ? n : 0);
        for (; at <= bytes - LONG_STEP; at += LONG_STEP) {
            Vector<Object> x = LONG.fromMemorySegment(ALL, a + at, LITTLE_ENDIAN);
            Vector<Object> y = LONG.fromMemorySegment(ALL, b + at, LITTLE_ENDIAN);
            Vector<Object> z = LONG.fromMemorySegment(ALL, c + at, LITTLE_ENDIAN);
            Vector<Object> w = LONG.fromMemorySegment(ALL, d + at, LITTLE_ENDIAN);
            Vector<Object> all =
                    x.lanewise(OPERATOR, y).lanewise(OPERATOR, z).lanewise(OPERATOR, w);
            all = AVERAGES ? all.lanewise(DIV, longN) : all;
            all.intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        Vector<Object> shortN = SHORT.broadcast(AVERAGES ? n : 0);
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            Vector<Object> x = SHORT.fromMemorySegment(ALL, a + at, LITTLE_ENDIAN);
            Vector<Object> y = SHORT.fromMemorySegment(ALL, b + at, LITTLE_ENDIAN);
            Vector<Object> z = SHORT.fromMemorySegment(ALL, c + at, LITTLE_ENDIAN);
            Vector<Object> w = SHORT.fromMemorySegment(ALL, d + at, LITTLE_ENDIAN);
            Vector<Object> all =
                    x.lanewise(OPERATOR, y).lanewise(OPERATOR, z).lanewise(OPERATOR, w);
            all = AVERAGES ? all.lanewise(DIV, shortN) : all;
            all.intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        return at;
    }

    /** Two vectors at once, which share what the loop over the sources costs. */
    private static long many(long dst, long[] sources, int n, long bytes) {
        long at = 0;
        Vector<Object> longN = LONG.broadcast(AVERAGES ? n : 0);
        for (; at <= bytes - PAIR_STEP; at += PAIR_STEP) {
            Vector<Object> low = LONG.fromMemorySegment(ALL, sources[0] + at, LITTLE_ENDIAN);
            Vector<Object> high =
                    LONG.fromMemorySegment(ALL, sources[0] + at + LONG_STEP, LITTLE_ENDIAN);
            for (int k = 1; k < n; k++) {
                long source = sources[k] + at;
                Vector<Object> x = LONG.fromMemorySegment(ALL, source, LITTLE_ENDIAN);
                Vector<Object> y = LONG.fromMemorySegment(ALL, source + LONG_STEP, LITTLE_ENDIAN);
                low = low.lanewise(OPERATOR, x);
                high = high.lanewise(OPERATOR, y);
            }
            low = AVERAGES ? low.lanewise(DIV, longN) : low;
            high = AVERAGES ? high.lanewise(DIV, longN) : high;
            low.intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
            high.intoMemorySegment(ALL, dst + at + LONG_STEP, LITTLE_ENDIAN);
        }
        Vector<Object> shortN = SHORT.broadcast(AVERAGES ? n : 0);
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            Vector<Object> all = SHORT.fromMemorySegment(ALL, sources[0] + at, LITTLE_ENDIAN);
            for (int k = 1; k < n; k++) {
                Vector<Object> x = SHORT.fromMemorySegment(ALL, sources[k] + at, LITTLE_ENDIAN);
                all = all.lanewise(OPERATOR, x);
            }
            all = AVERAGES ? all.lanewise(DIV, shortN) : all;
            all.intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        return at;
    }
}
