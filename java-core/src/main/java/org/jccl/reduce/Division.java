package org.jccl.reduce;

import static org.jccl.platform.Memory.ALL;
import static org.jccl.reduce.Fold.BFLOAT16;
import static org.jccl.reduce.Fold.FLOAT16;
import static org.jccl.reduce.Fold.FLOAT32;
import static org.jccl.reduce.Fold.FLOAT64;
import static org.jccl.reduce.Fold.FLOAT8E4M3;
import static org.jccl.reduce.Fold.FLOAT8E5M2;
import static org.jccl.reduce.Fold.INT32;
import static org.jccl.reduce.Fold.INT64;
import static org.jccl.reduce.Fold.INT8;
import static org.jccl.reduce.Fold.UINT32;
import static org.jccl.reduce.Fold.UINT64;
import static org.jccl.reduce.Fold.UINT8;
import static org.jccl.reduce.ScalarFold.F32;
import static org.jccl.reduce.ScalarFold.F64;
import static org.jccl.reduce.ScalarFold.I16;
import static org.jccl.reduce.ScalarFold.I32;
import static org.jccl.reduce.ScalarFold.I64;
import static org.jccl.reduce.ScalarFold.I8;

/** The division of an AVG whose sum was made by several folds. */
final class Division {
    private Division() {}

    static void run(int dataType, long dst, int n, long count) {
        long end = dst + count * Fold.sizeBytes(dataType);
        switch (dataType) {
            case INT8 -> {
                for (long at = dst; at < end; at++) {
                    ALL.set(I8, at, (byte) (ALL.get(I8, at) / n));
                }
            }
            case UINT8 -> {
                for (long at = dst; at < end; at++) {
                    ALL.set(I8, at, (byte) ((ALL.get(I8, at) & 0xff) / n));
                }
            }
            case INT32 -> {
                for (long at = dst; at < end; at += 4) {
                    ALL.set(I32, at, ALL.get(I32, at) / n);
                }
            }
            case UINT32 -> {
                for (long at = dst; at < end; at += 4) {
                    ALL.set(I32, at, Integer.divideUnsigned(ALL.get(I32, at), n));
                }
            }
            case INT64 -> {
                for (long at = dst; at < end; at += 8) {
                    ALL.set(I64, at, ALL.get(I64, at) / n);
                }
            }
            case UINT64 -> {
                for (long at = dst; at < end; at += 8) {
                    ALL.set(I64, at, Long.divideUnsigned(ALL.get(I64, at), n));
                }
            }
            case FLOAT32 -> {
                for (long at = dst; at < end; at += 4) {
                    ALL.set(F32, at, ALL.get(F32, at) / n);
                }
            }
            case FLOAT64 -> {
                for (long at = dst; at < end; at += 8) {
                    ALL.set(F64, at, ALL.get(F64, at) / n);
                }
            }
            case FLOAT16 -> {
                for (long at = dst; at < end; at += 2) {
                    float x = Float.float16ToFloat(ALL.get(I16, at));
                    ALL.set(I16, at, Float.floatToFloat16(x / n));
                }
            }
            case BFLOAT16 -> {
                for (long at = dst; at < end; at += 2) {
                    float x = Float.intBitsToFloat(ALL.get(I16, at) << 16);
                    ALL.set(I16, at, ScalarFold.toBfloat16(x / n));
                }
            }
            case FLOAT8E4M3 -> float8(Float8.E4M3, dst, n, end);
            case FLOAT8E5M2 -> float8(Float8.E5M2, dst, n, end);
            default -> throw new IllegalArgumentException("no reduction of data type " + dataType);
        }
    }

    private static void float8(Float8 format, long dst, int n, long end) {
        for (long at = dst; at < end; at++) {
            ALL.set(I8, at, format.encode(format.decode(ALL.get(I8, at)) / n));
        }
    }
}
