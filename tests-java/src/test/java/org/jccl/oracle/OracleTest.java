package org.jccl.oracle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.type.DataType;
import org.jccl.type.RedOp;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Random;

final class OracleTest {
    private static final int SAMPLES = 20_000;

    @Test
    void decodesTheTextbookValuesOfFloat16() {
        assertEquals(1.0, FloatFormat.FLOAT16.decode(0x3c00));
        assertEquals(-2.0, FloatFormat.FLOAT16.decode(0xc000));
        assertEquals(65504.0, FloatFormat.FLOAT16.decode(0x7bff));
        assertEquals(0x1p-24, FloatFormat.FLOAT16.decode(0x0001));
        assertEquals(Double.POSITIVE_INFINITY, FloatFormat.FLOAT16.decode(0x7c00));
        assertEquals(0x8000, FloatFormat.FLOAT16.encode(-0.0));
    }

    @Test
    void decodesTheTextbookValuesOfBfloat16() {
        assertEquals(1.0, FloatFormat.BFLOAT16.decode(0x3f80));
        assertEquals(3.140625, FloatFormat.BFLOAT16.decode(0x4049));
        assertEquals(0x1.fep127, FloatFormat.BFLOAT16.decode(0x7f7f));
        assertEquals(0x1p-133, FloatFormat.BFLOAT16.decode(0x0001));
        assertEquals(Double.NEGATIVE_INFINITY, FloatFormat.BFLOAT16.decode(0xff80));
    }

    @Test
    void decodesTheTextbookValuesOfTheEightBitFloats() {
        assertEquals(1.0, SmallFloat.E4M3.decode(0x38));
        assertEquals(-2.0, SmallFloat.E4M3.decode(0xc0));
        assertEquals(448.0, SmallFloat.E4M3.decode(0x7e));
        assertEquals(0x1p-9, SmallFloat.E4M3.decode(0x01));
        assertTrue(Double.isNaN(SmallFloat.E4M3.decode(0xff)));
        assertEquals(1.0, SmallFloat.E5M2.decode(0x3c));
        assertEquals(57344.0, SmallFloat.E5M2.decode(0x7b));
        assertEquals(0x1p-16, SmallFloat.E5M2.decode(0x01));
        assertEquals(Double.NEGATIVE_INFINITY, SmallFloat.E5M2.decode(0xfc));
        assertTrue(Double.isNaN(SmallFloat.E5M2.decode(0x7d)));
    }

    /** By definition only the width of the fraction and the NaNs differ. */
    @Test
    void theUpperByteOfFloat16IsAnEightBitFloat() {
        for (int code = 0; code < 256; code++) {
            double half = FloatFormat.FLOAT16.decode(code << 8);
            assertEquals(half, SmallFloat.E5M2.decode(code));
        }
    }

    @Test
    void roundsToEightBitsToTheNearestOrEvenAndSaturates() {
        for (SmallFloat format : new SmallFloat[] {SmallFloat.E4M3, SmallFloat.E5M2}) {
            int largest = format == SmallFloat.E4M3 ? 0x7e : 0x7b;
            for (int code = 0; code < largest; code++) {
                double middle = (format.decode(code) + format.decode(code + 1)) / 2;
                int even = code % 2 == 0 ? code : code + 1;
                assertEquals(code, format.encode(format.decode(code)));
                assertEquals(code, format.encode(Math.nextDown(middle)));
                assertEquals(code + 1, format.encode(Math.nextUp(middle)));
                assertEquals(even, format.encode(middle));
                assertEquals(even | 0x80, format.encode(-middle));
            }
            assertEquals(largest, format.encode(format.decode(largest)));
            assertEquals(largest, format.encode(Double.MAX_VALUE));
            assertEquals(largest | 0x80, format.encode(Double.NEGATIVE_INFINITY));
            assertEquals(0x80, format.encode(-Double.MIN_VALUE));
            assertEquals(0x7f, format.encode(Double.NaN));
        }
    }

    @Test
    void encodesEveryNumberToItself() {
        for (FloatFormat format : formats()) {
            for (int bits = 0; bits < 0x10000; bits++) {
                double value = format.decode(bits);
                if (Double.isNaN(value)) {
                    assertTrue(Double.isNaN(format.decode(format.encode(value))));
                } else {
                    assertEquals(bits, format.encode(value));
                }
            }
        }
    }

    @Test
    void roundsHalfWayToTheEvenNeighbourAndElseToTheNearest() {
        for (FloatFormat format : formats()) {
            int infinity = format.encode(Double.POSITIVE_INFINITY);
            for (int bits = 0; bits < infinity - 1; bits++) {
                double below = format.decode(bits);
                double above = format.decode(bits + 1);
                double middle = (below + above) / 2;
                int even = bits % 2 == 0 ? bits : bits + 1;
                assertEquals(even, format.encode(middle));
                assertEquals(bits, format.encode(Math.nextDown(middle)));
                assertEquals(bits + 1, format.encode(Math.nextUp(middle)));
                assertEquals(even | 0x8000, format.encode(-middle));
            }
            double largest = format.decode(infinity - 1);
            double limit = largest + (largest - format.decode(infinity - 2)) / 2;
            assertEquals(infinity - 1, format.encode(Math.nextDown(limit)));
            assertEquals(infinity, format.encode(limit));
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = DataType.class,
            names = {"FLOAT16", "BFLOAT16", "FLOAT32", "FLOAT64", "FLOAT8E4M3", "FLOAT8E5M2"})
    void agreesWithExactArithmeticOnFloats(DataType type) {
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        for (RedOp op : new RedOp[] {RedOp.SUM, RedOp.PROD}) {
            byte[] a = Oracle.randomInput(type, op, SAMPLES, random);
            byte[] b = Oracle.randomInput(type, op, SAMPLES, random);
            byte[] folded = Oracle.fold(type, op, new byte[][] {a, b});
            int compared = 0;
            for (int i = 0; i < SAMPLES; i++) {
                double x = value(type, a, i);
                double y = value(type, b, i);
                double got = value(type, folded, i);
                double wide = op == RedOp.SUM ? x + y : x * y;
                if (Double.isFinite(x)
                        && Double.isFinite(y)
                        && Double.isFinite(got)
                        && Double.isFinite(wide)) {
                    BigDecimal left = new BigDecimal(x);
                    BigDecimal right = new BigDecimal(y);
                    BigDecimal exact = op == RedOp.SUM ? left.add(right) : left.multiply(right);
                    assertNearest(type, exact, got, type + " " + op + " seed " + seed + " " + i);
                    compared++;
                }
            }
            assertTrue(compared > SAMPLES / 2);
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = DataType.class,
            names = {"INT8", "UINT8", "INT32", "UINT32", "INT64", "UINT64"})
    void agreesWithExactArithmeticOnIntegers(DataType type) {
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        for (RedOp op : RedOp.values()) {
            byte[][] in = new byte[3][];
            for (int rank = 0; rank < in.length; rank++) {
                in[rank] = Oracle.randomInput(type, op, SAMPLES, random);
            }
            byte[] folded = Oracle.fold(type, op, in);
            for (int i = 0; i < SAMPLES; i++) {
                BigInteger x = integer(type, in[0], i);
                for (int rank = 1; rank < in.length; rank++) {
                    BigInteger y = integer(type, in[rank], i);
                    x =
                            switch (op) {
                                case SUM, AVG -> wrap(type, x.add(y));
                                case PROD -> wrap(type, x.multiply(y));
                                case MAX -> x.max(y);
                                case MIN -> x.min(y);
                            };
                }
                if (op == RedOp.AVG) {
                    x = x.divide(BigInteger.valueOf(in.length));
                }
                assertEquals(x, integer(type, folded, i), type + " " + op + " seed " + seed);
            }
        }
    }

    @Test
    void lettingNanWinAndOrderingZerosBySign() {
        float nan = Float.NaN;
        assertEquals(0f, foldTwo(RedOp.MAX, -0f, 0f));
        assertEquals(-0f, foldTwo(RedOp.MIN, 0f, -0f));
        assertTrue(Float.isNaN(foldTwo(RedOp.MAX, nan, 1f)));
        assertTrue(Float.isNaN(foldTwo(RedOp.MIN, 1f, nan)));
        assertTrue(Float.isNaN(foldTwo(RedOp.MIN, nan, Float.NEGATIVE_INFINITY)));
    }

    @Test
    void keepsRankOrder() {
        byte[][] in = {bytes(1e8f), bytes(-1e8f), bytes(1f), bytes(1e-8f)};
        assertEquals(
                1f + 1e-8f,
                value(DataType.FLOAT32, Oracle.fold(DataType.FLOAT32, RedOp.SUM, in), 0));
        byte[][] other = {bytes(1f), bytes(1e8f), bytes(-1e8f)};
        assertEquals(
                0, value(DataType.FLOAT32, Oracle.fold(DataType.FLOAT32, RedOp.SUM, other), 0));
    }

    @Test
    void accumulatesBfloat16InFloat32AndRoundsOnce() {
        // 1 + 2^-8 + 2^-8 is 1 + 2^-7; rounding after each addition would stay at 1.
        byte[] one = {(byte) 0x80, 0x3f};
        byte[] tiny = {(byte) 0x80, 0x3b};
        byte[] sum = Oracle.fold(DataType.BFLOAT16, RedOp.SUM, new byte[][] {one, tiny, tiny});
        assertEquals(1 + 0x1p-7, value(DataType.BFLOAT16, sum, 0));
    }

    @Test
    void namesTheFirstDifferenceButTakesAnyNanForAnother() {
        assertTrue(
                Oracle.equalBits(
                        DataType.FLOAT32,
                        bytes(Float.intBitsToFloat(0x7fc00000)),
                        bytes(Float.intBitsToFloat(0xffc00001))));
        assertFalse(Oracle.equalBits(DataType.FLOAT32, bytes(0f), bytes(-0f)));
        assertFalse(
                Oracle.equalBits(
                        DataType.INT32, new byte[] {0, 0, -64, 127}, new byte[] {1, 0, -64, 127}));
        assertNull(Oracle.difference(DataType.UINT8, new byte[] {1, 2}, new byte[] {1, 2}));
        String sentence = Oracle.difference(DataType.UINT8, new byte[] {1, 2}, new byte[] {1, 3});
        assertNotNull(sentence);
        assertTrue(sentence.contains("number 1"), sentence);
    }

    private static FloatFormat[] formats() {
        return new FloatFormat[] {FloatFormat.FLOAT16, FloatFormat.BFLOAT16};
    }

    /** Fails unless no other value of the type is nearer to {@code exact}, or as near and even. */
    private static void assertNearest(DataType type, BigDecimal exact, double got, String what) {
        // The narrow ones are rounded twice by contract, to float32 and then once more.
        float wide = exact.floatValue();
        double nearest =
                switch (type) {
                    case FLOAT16 -> FloatFormat.FLOAT16.decode(FloatFormat.FLOAT16.encode(wide));
                    case BFLOAT16 -> FloatFormat.BFLOAT16.decode(FloatFormat.BFLOAT16.encode(wide));
                    case FLOAT8E4M3 -> SmallFloat.E4M3.decode(SmallFloat.E4M3.encode(wide));
                    case FLOAT8E5M2 -> SmallFloat.E5M2.decode(SmallFloat.E5M2.encode(wide));
                    case FLOAT32 -> wide;
                    default -> exact.doubleValue();
                };
        assertEquals(Math.abs(nearest), Math.abs(got), what);
    }

    private static double value(DataType type, byte[] from, int index) {
        ByteBuffer buffer = ByteBuffer.wrap(from).order(ByteOrder.LITTLE_ENDIAN);
        return switch (type) {
            case FLOAT16 -> FloatFormat.FLOAT16.decode(buffer.getShort(2 * index));
            case BFLOAT16 -> FloatFormat.BFLOAT16.decode(buffer.getShort(2 * index));
            case FLOAT32 -> buffer.getFloat(4 * index);
            case FLOAT8E4M3 -> SmallFloat.E4M3.decode(buffer.get(index));
            case FLOAT8E5M2 -> SmallFloat.E5M2.decode(buffer.get(index));
            default -> buffer.getDouble(8 * index);
        };
    }

    private static BigInteger integer(DataType type, byte[] from, int index) {
        int size = type.sizeBytes();
        byte[] big = new byte[size];
        for (int i = 0; i < size; i++) {
            big[i] = from[index * size + size - 1 - i];
        }
        return wrap(type, new BigInteger(big));
    }

    private static BigInteger wrap(DataType type, BigInteger value) {
        BigInteger modulus = BigInteger.ONE.shiftLeft(8 * type.sizeBytes());
        BigInteger wrapped = value.mod(modulus);
        boolean signed = !type.name().startsWith("U");
        return signed && wrapped.testBit(8 * type.sizeBytes() - 1)
                ? wrapped.subtract(modulus)
                : wrapped;
    }

    private static float foldTwo(RedOp op, float a, float b) {
        byte[] folded = Oracle.fold(DataType.FLOAT32, op, new byte[][] {bytes(a), bytes(b)});
        return (float) value(DataType.FLOAT32, folded, 0);
    }

    private static byte[] bytes(float value) {
        return ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putFloat(value).array();
    }
}
