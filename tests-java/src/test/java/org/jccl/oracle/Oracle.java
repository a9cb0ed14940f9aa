package org.jccl.oracle;

import org.jccl.type.DataType;
import org.jccl.type.RedOp;
import org.jspecify.annotations.Nullable;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

/**
 * The independent judge of reductions. It folds plain byte arrays (little-endian elements) one
 * element at a time in rank order, shares no code with the library, and is itself compared with
 * exact arithmetic by its test.
 */
public final class Oracle {
    private static final int POOL = 8192;

    private Oracle() {}

    /**
     * What a reduction of these inputs must give: the floats narrower than float32 accumulated in
     * float32 and rounded once; AVG divided at the end; NaN wins MAX and MIN, and −0 is less than
     * +0. A single input is the result as it is, infinities of 8-bit floats included.
     *
     * @param inputs one array per rank, in rank order, all of one length
     */
    public static byte[] fold(DataType type, RedOp op, byte[][] inputs) {
        if (inputs.length == 1) {
            return inputs[0].clone();
        }
        byte[] result = new byte[inputs[0].length];
        ByteBuffer out = little(result);
        ByteBuffer[] in = new ByteBuffer[inputs.length];
        for (int rank = 0; rank < in.length; rank++) {
            in[rank] = little(inputs[rank]);
        }
        for (int at = 0; at < result.length; at += type.sizeBytes()) {
            switch (type) {
                case FLOAT16, BFLOAT16, FLOAT32, FLOAT8E4M3, FLOAT8E5M2 ->
                        putFloat(type, out, at, floats(type, op, in, at));
                case FLOAT64 -> out.putDouble(at, doubles(op, in, at));
                default -> putInteger(type, out, at, integers(type, op, in, at));
            }
        }
        return result;
    }

    /**
     * The same where the ranks of each node are folded first, then the nodes: every fold is rounded
     * to the type, and AVG divides the last sum.
     *
     * @param nodeOf by rank, its node; nodes are numbered in the order of their first ranks
     */
    public static byte[] foldByNode(DataType type, RedOp op, byte[][] inputs, int[] nodeOf) {
        RedOp part = op == RedOp.AVG ? RedOp.SUM : op;
        List<byte[]> sums = new ArrayList<>();
        for (int node = 0; node <= Arrays.stream(nodeOf).max().orElse(0); node++) {
            int which = node;
            byte[][] ofNode =
                    IntStream.range(0, inputs.length)
                            .filter(rank -> nodeOf[rank] == which)
                            .mapToObj(rank -> inputs[rank])
                            .toArray(byte[][]::new);
            sums.add(fold(type, part, ofNode));
        }
        byte[] folded = fold(type, part, sums.toArray(byte[][]::new));
        return op == RedOp.AVG ? divided(type, folded, inputs.length) : folded;
    }

    private static byte[] divided(DataType type, byte[] sums, int n) {
        byte[] result = new byte[sums.length];
        ByteBuffer in = little(sums);
        ByteBuffer out = little(result);
        for (int at = 0; at < sums.length; at += type.sizeBytes()) {
            switch (type) {
                case FLOAT16, BFLOAT16, FLOAT32, FLOAT8E4M3, FLOAT8E5M2 ->
                        putFloat(type, out, at, (float) getFloat(type, in, at) / (float) n);
                case FLOAT64 -> out.putDouble(at, in.getDouble(at) / n);
                default -> {
                    long sum = getInteger(type, in, at);
                    long mean = isUnsigned(type) ? Long.divideUnsigned(sum, n) : sum / n;
                    putInteger(type, out, at, mean);
                }
            }
        }
        return result;
    }

    /** Whether the elements have the same bits, where any NaN equals any NaN. */
    public static boolean equalBits(DataType type, byte[] expected, byte[] actual) {
        return difference(type, expected, actual) == null;
    }

    /** A sentence about the first element that differs and how many do, or null if none does. */
    public static @Nullable String difference(DataType type, byte[] expected, byte[] actual) {
        if (expected.length != actual.length) {
            return expected.length + " bytes expected, " + actual.length + " found";
        }
        ByteBuffer wanted = little(expected);
        ByteBuffer found = little(actual);
        int first = -1;
        int differing = 0;
        int size = type.sizeBytes();
        for (int at = 0; at < expected.length; at += size) {
            if (!sameElement(type, wanted, found, at)) {
                first = first < 0 ? at : first;
                differing++;
            }
        }
        if (first < 0) {
            return null;
        }
        return String.format(
                "%d of %d elements of %s differ, the first is number %d: expected %s, found %s",
                differing,
                expected.length / size,
                type,
                first / size,
                text(type, wanted, first),
                text(type, found, first));
    }

    /**
     * An input that shows mistakes: mostly numbers of ordinary size, so that the order of additions
     * matters; one element in sixteen has any bits, one in sixty-four is a special value (±0,
     * infinities, NaN, denormal and extreme numbers). Products stay near one.
     *
     * <p>A long input consists of stretches of {@link #POOL} such elements, since drawing an
     * element costs more than checking one.
     */
    public static byte[] randomInput(DataType type, RedOp op, long count, Random random) {
        if (count <= POOL) {
            return drawn(type, op, (int) count, random);
        }
        int size = type.sizeBytes();
        byte[] pool = drawn(type, op, POOL, random);
        byte[] input = new byte[Math.toIntExact(count * size)];
        int at = 0;
        while (at < input.length) {
            int from = random.nextInt(POOL);
            int length = Math.min(1 + random.nextInt(POOL - from), (input.length - at) / size);
            System.arraycopy(pool, from * size, input, at, length * size);
            at += length * size;
        }
        return input;
    }

    private static byte[] drawn(DataType type, RedOp op, int count, Random random) {
        byte[] input = new byte[count * type.sizeBytes()];
        ByteBuffer out = little(input);
        for (int at = 0; at < input.length; at += type.sizeBytes()) {
            int kind = random.nextInt(64);
            if (kind == 0) {
                putSpecial(type, out, at, random.nextInt(12));
            } else if (kind < 5 || !isFloat(type)) {
                putInteger(type, out, at, random.nextLong());
            } else {
                double spread = op == RedOp.PROD ? 0.5 : Math.scalb(1.0, random.nextInt(8));
                double value =
                        op == RedOp.PROD
                                ? 0.75 + random.nextDouble() * spread
                                : random.nextGaussian() * spread;
                putFloat(type, out, at, random.nextInt(4) == 0 ? -value : value);
            }
        }
        return input;
    }

    private static float floats(DataType type, RedOp op, ByteBuffer[] in, int at) {
        float folded = (float) getFloat(type, in[0], at);
        for (int rank = 1; rank < in.length; rank++) {
            float next = (float) getFloat(type, in[rank], at);
            folded =
                    switch (op) {
                        case SUM, AVG -> folded + next;
                        case PROD -> folded * next;
                        case MAX -> (float) larger(folded, next);
                        case MIN -> (float) -larger(-folded, -next);
                    };
        }
        return op == RedOp.AVG ? folded / (float) in.length : folded;
    }

    private static double doubles(RedOp op, ByteBuffer[] in, int at) {
        double folded = in[0].getDouble(at);
        for (int rank = 1; rank < in.length; rank++) {
            double next = in[rank].getDouble(at);
            folded =
                    switch (op) {
                        case SUM, AVG -> folded + next;
                        case PROD -> folded * next;
                        case MAX -> larger(folded, next);
                        case MIN -> -larger(-folded, -next);
                    };
        }
        return op == RedOp.AVG ? folded / (double) in.length : folded;
    }

    private static double larger(double a, double b) {
        if (Double.isNaN(a) || Double.isNaN(b)) {
            return Double.NaN;
        }
        if (a == 0 && b == 0) {
            return Math.copySign(1.0, a) > 0 ? a : b;
        }
        return a > b ? a : b;
    }

    private static long integers(DataType type, RedOp op, ByteBuffer[] in, int at) {
        long folded = getInteger(type, in[0], at);
        for (int rank = 1; rank < in.length; rank++) {
            long next = getInteger(type, in[rank], at);
            int order =
                    isUnsigned(type)
                            ? Long.compareUnsigned(folded, next)
                            : Long.compare(folded, next);
            folded =
                    switch (op) {
                        case SUM, AVG -> wrap(type, folded + next);
                        case PROD -> wrap(type, folded * next);
                        case MAX -> order < 0 ? next : folded;
                        case MIN -> order < 0 ? folded : next;
                    };
        }
        if (op != RedOp.AVG) {
            return folded;
        }
        return isUnsigned(type) ? Long.divideUnsigned(folded, in.length) : folded / in.length;
    }

    private static boolean sameElement(DataType type, ByteBuffer a, ByteBuffer b, int at) {
        if (getInteger(type, a, at) == getInteger(type, b, at)) {
            return true;
        }
        return isFloat(type)
                && Double.isNaN(getFloat(type, a, at))
                && Double.isNaN(getFloat(type, b, at));
    }

    private static String text(DataType type, ByteBuffer from, int at) {
        long bits = getInteger(type, from, at);
        String hex = "0x" + Long.toHexString(bits);
        return isFloat(type) ? hex + " (" + getFloat(type, from, at) + ")" : hex;
    }

    private static void putSpecial(DataType type, ByteBuffer out, int at, int which) {
        if (!isFloat(type)) {
            int bits = 8 * type.sizeBytes();
            long top = 1L << (bits - 1);
            long[] values = {0, 1, -1, top, top - 1, top + 1, -2, 2, 3, -3, 255, 128};
            putInteger(type, out, at, values[which]);
            return;
        }
        double smallest =
                switch (type) {
                    case FLOAT16 -> 0x1p-24;
                    case BFLOAT16 -> 0x1p-133;
                    case FLOAT8E4M3 -> 0x1p-9;
                    case FLOAT8E5M2 -> 0x1p-16;
                    case FLOAT32 -> Float.MIN_VALUE;
                    default -> Double.MIN_VALUE;
                };
        double largest =
                switch (type) {
                    case FLOAT16 -> 65504;
                    case BFLOAT16 -> 0x1.fep127;
                    case FLOAT8E4M3 -> 448;
                    case FLOAT8E5M2 -> 57344;
                    case FLOAT32 -> Float.MAX_VALUE;
                    default -> Double.MAX_VALUE;
                };
        double infinity = Double.POSITIVE_INFINITY;
        double[] values = {
            0.0,
            -0.0,
            infinity,
            -infinity,
            Double.NaN,
            smallest,
            -smallest,
            5 * smallest,
            largest,
            -largest,
            1,
            -1
        };
        putFloat(type, out, at, values[which]);
    }

    private static double getFloat(DataType type, ByteBuffer from, int at) {
        return switch (type) {
            case FLOAT16 -> FloatFormat.FLOAT16.decode(from.getShort(at));
            case BFLOAT16 -> FloatFormat.BFLOAT16.decode(from.getShort(at));
            case FLOAT8E4M3 -> SmallFloat.E4M3.decode(from.get(at));
            case FLOAT8E5M2 -> SmallFloat.E5M2.decode(from.get(at));
            case FLOAT32 -> from.getFloat(at);
            default -> from.getDouble(at);
        };
    }

    private static void putFloat(DataType type, ByteBuffer to, int at, double value) {
        switch (type) {
            case FLOAT16 -> to.putShort(at, (short) FloatFormat.FLOAT16.encode(value));
            case BFLOAT16 -> to.putShort(at, (short) FloatFormat.BFLOAT16.encode(value));
            case FLOAT8E4M3 -> to.put(at, (byte) SmallFloat.E4M3.encode(value));
            case FLOAT8E5M2 -> to.put(at, (byte) SmallFloat.E5M2.encode(value));
            case FLOAT32 -> to.putFloat(at, (float) value);
            default -> to.putDouble(at, value);
        }
    }

    /** The element's bits as the integer that they mean; of floats just the bits. */
    private static long getInteger(DataType type, ByteBuffer from, int at) {
        long bits =
                switch (type.sizeBytes()) {
                    case 1 -> from.get(at);
                    case 2 -> from.getShort(at);
                    case 4 -> from.getInt(at);
                    default -> from.getLong(at);
                };
        return wrap(type, bits);
    }

    private static void putInteger(DataType type, ByteBuffer to, int at, long value) {
        switch (type.sizeBytes()) {
            case 1 -> to.put(at, (byte) value);
            case 2 -> to.putShort(at, (short) value);
            case 4 -> to.putInt(at, (int) value);
            default -> to.putLong(at, value);
        }
    }

    /** The value modulo two to the type's width, in the type's range. */
    private static long wrap(DataType type, long value) {
        int unused = 64 - 8 * type.sizeBytes();
        long top = value << unused;
        return isUnsigned(type) ? top >>> unused : top >> unused;
    }

    private static boolean isFloat(DataType type) {
        return switch (type) {
            case FLOAT16, FLOAT32, FLOAT64, BFLOAT16, FLOAT8E4M3, FLOAT8E5M2 -> true;
            case INT8, UINT8, INT32, UINT32, INT64, UINT64 -> false;
        };
    }

    private static boolean isUnsigned(DataType type) {
        return type == DataType.UINT8 || type == DataType.UINT32 || type == DataType.UINT64;
    }

    private static ByteBuffer little(byte[] bytes) {
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }
}
