package org.jccl.reduce;

import static org.jccl.platform.Memory.ALL;

import java.lang.foreign.ValueLayout;

/** Element by element: shortest for a few elements, and the plainest statement of the contract. */
final class ScalarFold implements Fold {
    static final ValueLayout.OfByte I8 = ValueLayout.JAVA_BYTE;
    static final ValueLayout.OfShort I16 = ValueLayout.JAVA_SHORT_UNALIGNED;
    static final ValueLayout.OfInt I32 = ValueLayout.JAVA_INT_UNALIGNED;
    static final ValueLayout.OfLong I64 = ValueLayout.JAVA_LONG_UNALIGNED;
    static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;
    static final ValueLayout.OfDouble F64 = ValueLayout.JAVA_DOUBLE_UNALIGNED;

    @Override
    public void fold(int dataType, int redOp, long dst, long[] sources, int n, long count) {
        run(dataType, redOp, dst, sources, n, count);
    }

    /** The same without an object, for the tiny calls. */
    static void run(int dataType, int redOp, long dst, long[] sources, int n, long count) {
        rest(dataType, redOp, dst, sources, n, 0, count);
    }

    /** The same for the elements from {@code first} on. */
    static void rest(
            int dataType, int redOp, long dst, long[] sources, int n, long first, long count) {
        if (redOp == SUM && n == 2) {
            sumTwo(dataType, dst, sources[0], sources[1], first, count);
        } else {
            any(dataType, redOp, dst, sources, n, first, count);
        }
    }

    /** The most frequent fold, without the choice of operation in the loop. */
    private static void sumTwo(int dataType, long dst, long a, long b, long first, long count) {
        switch (dataType) {
            case INT8, UINT8 -> {
                for (long at = first; at < count; at++) {
                    ALL.set(I8, dst + at, (byte) (ALL.get(I8, a + at) + ALL.get(I8, b + at)));
                }
            }
            case INT32, UINT32 -> {
                for (long at = first * 4; at != count * 4; at += 4) {
                    ALL.set(I32, dst + at, ALL.get(I32, a + at) + ALL.get(I32, b + at));
                }
            }
            case INT64, UINT64 -> {
                for (long at = first * 8; at != count * 8; at += 8) {
                    ALL.set(I64, dst + at, ALL.get(I64, a + at) + ALL.get(I64, b + at));
                }
            }
            case FLOAT32 -> {
                for (long at = first * 4; at != count * 4; at += 4) {
                    ALL.set(F32, dst + at, ALL.get(F32, a + at) + ALL.get(F32, b + at));
                }
            }
            case FLOAT64 -> {
                for (long at = first * 8; at != count * 8; at += 8) {
                    ALL.set(F64, dst + at, ALL.get(F64, a + at) + ALL.get(F64, b + at));
                }
            }
            case FLOAT16 -> {
                for (long at = first * 2; at != count * 2; at += 2) {
                    float x = Float.float16ToFloat(ALL.get(I16, a + at));
                    float y = Float.float16ToFloat(ALL.get(I16, b + at));
                    ALL.set(I16, dst + at, Float.floatToFloat16(x + y));
                }
            }
            case BFLOAT16 -> {
                for (long at = first * 2; at != count * 2; at += 2) {
                    float x = Float.intBitsToFloat(ALL.get(I16, a + at) << 16);
                    float y = Float.intBitsToFloat(ALL.get(I16, b + at) << 16);
                    ALL.set(I16, dst + at, toBfloat16(x + y));
                }
            }
            case FLOAT8E4M3 -> sumTwo(Float8.E4M3, dst, a, b, first, count);
            case FLOAT8E5M2 -> sumTwo(Float8.E5M2, dst, a, b, first, count);
            default -> throw new IllegalArgumentException("no reduction of data type " + dataType);
        }
    }

    private static void sumTwo(Float8 format, long dst, long a, long b, long first, long count) {
        for (long at = first; at < count; at++) {
            float x = format.decode(ALL.get(I8, a + at));
            float y = format.decode(ALL.get(I8, b + at));
            ALL.set(I8, dst + at, format.encode(x + y));
        }
    }

    private static void any(
            int dataType, int redOp, long dst, long[] sources, int n, long first, long count) {
        switch (dataType) {
            case INT8 -> int8(redOp, dst, sources, n, first, count);
            case UINT8 -> uint8(redOp, dst, sources, n, first, count);
            case INT32 -> int32(redOp, dst, sources, n, first, count);
            case UINT32 -> uint32(redOp, dst, sources, n, first, count);
            case INT64 -> int64(redOp, dst, sources, n, first, count);
            case UINT64 -> uint64(redOp, dst, sources, n, first, count);
            case FLOAT16 -> float16(redOp, dst, sources, n, first, count);
            case FLOAT32 -> float32(redOp, dst, sources, n, first, count);
            case FLOAT64 -> float64(redOp, dst, sources, n, first, count);
            case BFLOAT16 -> bfloat16(redOp, dst, sources, n, first, count);
            case FLOAT8E4M3 -> float8(Float8.E4M3, redOp, dst, sources, n, first, count);
            case FLOAT8E5M2 -> float8(Float8.E5M2, redOp, dst, sources, n, first, count);
            default -> throw new IllegalArgumentException("no reduction of data type " + dataType);
        }
    }

    /** The upper half of {@code value}, rounded to nearest even; a NaN stays a NaN. */
    static short toBfloat16(float value) {
        int bits = Float.floatToRawIntBits(value);
        if (Float.isNaN(value)) {
            return (short) ((bits >>> 16) | 0x40);
        }
        return (short) ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16);
    }

    private static void float32(int op, long dst, long[] sources, int n, long first, long count) {
        long bytes = count * 4;
        for (long at = first * 4; at < bytes; at += 4) {
            float x = ALL.get(F32, sources[0] + at);
            for (int k = 1; k < n; k++) {
                float y = ALL.get(F32, sources[k] + at);
                x =
                        switch (op) {
                            case PROD -> x * y;
                            case MAX -> Math.max(x, y);
                            case MIN -> Math.min(x, y);
                            default -> x + y;
                        };
            }
            ALL.set(F32, dst + at, op == AVG ? x / n : x);
        }
    }

    private static void float64(int op, long dst, long[] sources, int n, long first, long count) {
        long bytes = count * 8;
        for (long at = first * 8; at < bytes; at += 8) {
            double x = ALL.get(F64, sources[0] + at);
            for (int k = 1; k < n; k++) {
                double y = ALL.get(F64, sources[k] + at);
                x =
                        switch (op) {
                            case PROD -> x * y;
                            case MAX -> Math.max(x, y);
                            case MIN -> Math.min(x, y);
                            default -> x + y;
                        };
            }
            ALL.set(F64, dst + at, op == AVG ? x / n : x);
        }
    }

    private static void float16(int op, long dst, long[] sources, int n, long first, long count) {
        long bytes = count * 2;
        for (long at = first * 2; at < bytes; at += 2) {
            float x = Float.float16ToFloat(ALL.get(I16, sources[0] + at));
            for (int k = 1; k < n; k++) {
                float y = Float.float16ToFloat(ALL.get(I16, sources[k] + at));
                x =
                        switch (op) {
                            case PROD -> x * y;
                            case MAX -> Math.max(x, y);
                            case MIN -> Math.min(x, y);
                            default -> x + y;
                        };
            }
            ALL.set(I16, dst + at, Float.floatToFloat16(op == AVG ? x / n : x));
        }
    }

    private static void bfloat16(int op, long dst, long[] sources, int n, long first, long count) {
        long bytes = count * 2;
        for (long at = first * 2; at < bytes; at += 2) {
            float x = Float.intBitsToFloat(ALL.get(I16, sources[0] + at) << 16);
            for (int k = 1; k < n; k++) {
                float y = Float.intBitsToFloat(ALL.get(I16, sources[k] + at) << 16);
                x =
                        switch (op) {
                            case PROD -> x * y;
                            case MAX -> Math.max(x, y);
                            case MIN -> Math.min(x, y);
                            default -> x + y;
                        };
            }
            ALL.set(I16, dst + at, toBfloat16(op == AVG ? x / n : x));
        }
    }

    private static void float8(
            Float8 format, int op, long dst, long[] sources, int n, long first, long count) {
        for (long at = first; at < count; at++) {
            float x = format.decode(ALL.get(I8, sources[0] + at));
            for (int k = 1; k < n; k++) {
                float y = format.decode(ALL.get(I8, sources[k] + at));
                x =
                        switch (op) {
                            case PROD -> x * y;
                            case MAX -> Math.max(x, y);
                            case MIN -> Math.min(x, y);
                            default -> x + y;
                        };
            }
            ALL.set(I8, dst + at, format.encode(op == AVG ? x / n : x));
        }
    }

    private static void int8(int op, long dst, long[] sources, int n, long first, long count) {
        long bytes = count;
        for (long at = first; at < bytes; at++) {
            int x = ALL.get(I8, sources[0] + at);
            for (int k = 1; k < n; k++) {
                int y = ALL.get(I8, sources[k] + at);
                int z =
                        switch (op) {
                            case PROD -> x * y;
                            case MAX -> Math.max(x, y);
                            case MIN -> Math.min(x, y);
                            default -> x + y;
                        };
                x = (byte) z;
            }
            ALL.set(I8, dst + at, (byte) (op == AVG ? x / n : x));
        }
    }

    private static void uint8(int op, long dst, long[] sources, int n, long first, long count) {
        long bytes = count;
        for (long at = first; at < bytes; at++) {
            int x = ALL.get(I8, sources[0] + at) & 0xff;
            for (int k = 1; k < n; k++) {
                int y = ALL.get(I8, sources[k] + at) & 0xff;
                int z =
                        switch (op) {
                            case PROD -> x * y;
                            case MAX -> Math.max(x, y);
                            case MIN -> Math.min(x, y);
                            default -> x + y;
                        };
                x = z & 0xff;
            }
            ALL.set(I8, dst + at, (byte) (op == AVG ? x / n : x));
        }
    }

    private static void int32(int op, long dst, long[] sources, int n, long first, long count) {
        long bytes = count * 4;
        for (long at = first * 4; at < bytes; at += 4) {
            int x = ALL.get(I32, sources[0] + at);
            for (int k = 1; k < n; k++) {
                int y = ALL.get(I32, sources[k] + at);
                x =
                        switch (op) {
                            case PROD -> x * y;
                            case MAX -> Math.max(x, y);
                            case MIN -> Math.min(x, y);
                            default -> x + y;
                        };
            }
            ALL.set(I32, dst + at, op == AVG ? x / n : x);
        }
    }

    private static void uint32(int op, long dst, long[] sources, int n, long first, long count) {
        long bytes = count * 4;
        for (long at = first * 4; at < bytes; at += 4) {
            int x = ALL.get(I32, sources[0] + at);
            for (int k = 1; k < n; k++) {
                int y = ALL.get(I32, sources[k] + at);
                x =
                        switch (op) {
                            case PROD -> x * y;
                            case MAX -> Integer.compareUnsigned(x, y) >= 0 ? x : y;
                            case MIN -> Integer.compareUnsigned(x, y) <= 0 ? x : y;
                            default -> x + y;
                        };
            }
            ALL.set(I32, dst + at, op == AVG ? Integer.divideUnsigned(x, n) : x);
        }
    }

    private static void int64(int op, long dst, long[] sources, int n, long first, long count) {
        long bytes = count * 8;
        for (long at = first * 8; at < bytes; at += 8) {
            long x = ALL.get(I64, sources[0] + at);
            for (int k = 1; k < n; k++) {
                long y = ALL.get(I64, sources[k] + at);
                x =
                        switch (op) {
                            case PROD -> x * y;
                            case MAX -> Math.max(x, y);
                            case MIN -> Math.min(x, y);
                            default -> x + y;
                        };
            }
            ALL.set(I64, dst + at, op == AVG ? x / n : x);
        }
    }

    private static void uint64(int op, long dst, long[] sources, int n, long first, long count) {
        long bytes = count * 8;
        for (long at = first * 8; at < bytes; at += 8) {
            long x = ALL.get(I64, sources[0] + at);
            for (int k = 1; k < n; k++) {
                long y = ALL.get(I64, sources[k] + at);
                x =
                        switch (op) {
                            case PROD -> x * y;
                            case MAX -> Long.compareUnsigned(x, y) >= 0 ? x : y;
                            case MIN -> Long.compareUnsigned(x, y) <= 0 ? x : y;
                            default -> x + y;
                        };
            }
            ALL.set(I64, dst + at, op == AVG ? Long.divideUnsigned(x, n) : x);
        }
    }
}
