package org.jccl.reduce;

import static jdk.incubator.vector.VectorOperators.ADD;
import static jdk.incubator.vector.VectorOperators.AND;
import static jdk.incubator.vector.VectorOperators.DIV;
import static jdk.incubator.vector.VectorOperators.LSHL;
import static jdk.incubator.vector.VectorOperators.LSHR;
import static jdk.incubator.vector.VectorOperators.OR;

import static org.jccl.platform.Memory.ALL;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorSpecies;

import org.jccl.type.DataType;
import org.jccl.type.RedOp;

import java.lang.invoke.MethodHandles;

/**
 * The template of vector kernels, used only through copies ({@link Kind}). A bfloat16 is a load and
 * a store around a fold of float32: an int lane holds two elements, and each becomes a float by
 * shift or mask. Their results are rounded to nearest even, as {@link Bfloat16} explains.
 *
 * <p>The loop is written out: a method called from a vector loop costs a factor of twenty when C2
 * stops inlining. Nothing depends on the type of the lanes but the compiler's checks.
 */
@SuppressWarnings("unchecked")
final class VectorTemplate extends Kernel {
    private static final Kind KIND = Kind.of(MethodHandles.lookup());
    private static final Kernel REST = KIND.rest();
    private static final boolean AVERAGES = KIND.op() == RedOp.AVG;
    private static final boolean UNSIGNED = KIND.type().isUnsigned();
    private static final VectorOperators.Associative OPERATOR = operator();

    /** Whether each vector is widened to two, of the lower and of the upper elements. */
    private static final boolean NARROW = KIND.type() == DataType.BFLOAT16;

    private static final VectorSpecies<Object> LANES = lanes();
    private static final VectorSpecies<Object> WIDE =
            NARROW ? (VectorSpecies<Object>) (Object) LANES.withLanes(float.class) : LANES;
    private static final int STEP = LANES.vectorByteSize();
    private static final int SIZE = KIND.type().sizeBytes();

    /** The upper half of an int. */
    private static final long HIGH = 0xffffffffffff0000L;

    private static VectorSpecies<Object> lanes() {
        Class<?> lane = NARROW ? int.class : Tiles.layout(KIND.type()).carrier();
        VectorSpecies<?> longest = VectorSpecies.ofPreferred(lane);
        VectorShape shape = KIND.isLong() ? longest.vectorShape() : VectorShape.S_128_BIT;
        return (VectorSpecies<Object>) longest.withShape(shape);
    }

    /** What combines two vectors: for an average, the sum. */
    private static VectorOperators.Associative operator() {
        return switch (KIND.op()) {
            case PROD -> VectorOperators.MUL;
            case MAX -> UNSIGNED ? VectorOperators.UMAX : VectorOperators.MAX;
            case MIN -> UNSIGNED ? VectorOperators.UMIN : VectorOperators.MIN;
            default -> ADD;
        };
    }

    @Override
    void fold(long dst, long[] sources, int n, int divisor, long first, long count) {
        // A constant unless sources are many, so that the loop over them is unrolled.
        int most = KIND.sources() < Kind.MANY ? KIND.sources() : n;
        // Bytes are never divided, and have no room for every divisor.
        Vector<Object> divisors = WIDE.broadcast(AVERAGES ? divisor : 0);
        long end = count * SIZE;
        long at = first * SIZE;
        for (; at <= end - STEP; at += STEP) {
            Vector<Object> x = LANES.fromMemorySegment(ALL, sources[0] + at, LITTLE_ENDIAN);
            Vector<Object> low =
                    NARROW ? (Vector<Object>) x.lanewise(LSHL, 16).viewAsFloatingLanes() : x;
            Vector<Object> high =
                    NARROW ? (Vector<Object>) x.lanewise(AND, HIGH).viewAsFloatingLanes() : x;
            for (int k = 1; k < most; k++) {
                x = LANES.fromMemorySegment(ALL, sources[k] + at, LITTLE_ENDIAN);
                Vector<Object> y =
                        NARROW ? (Vector<Object>) x.lanewise(LSHL, 16).viewAsFloatingLanes() : x;
                low = low.lanewise(OPERATOR, y);
                y = NARROW ? (Vector<Object>) x.lanewise(AND, HIGH).viewAsFloatingLanes() : x;
                high = NARROW ? high.lanewise(OPERATOR, y) : y;
            }
            low = AVERAGES ? low.lanewise(DIV, divisors) : low;
            if (NARROW) {
                high = AVERAGES ? high.lanewise(DIV, divisors) : high;
                x = (Vector<Object>) low.viewAsIntegralLanes();
                Vector<Object> even = x.lanewise(LSHR, 16).lanewise(AND, 1);
                low = x.lanewise(ADD, 0x7fff).lanewise(ADD, even).lanewise(LSHR, 16);
                x = (Vector<Object>) high.viewAsIntegralLanes();
                even = x.lanewise(LSHR, 16).lanewise(AND, 1);
                high = x.lanewise(ADD, 0x7fff).lanewise(ADD, even).lanewise(AND, HIGH);
                low = low.lanewise(OR, high);
            }
            low.intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        if (at < end) {
            REST.fold(dst, sources, n, divisor, at / SIZE, count);
        }
    }
}
