package org.jccl.reduce;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.jccl.type.DataType;
import org.jccl.type.RedOp;
import org.junit.jupiter.api.Test;

/** The door: the same contract through every switch between variants, and one source. */
final class ReductionsTest extends FoldContractTest {
    @Override
    Fold fold() {
        return Reductions::fold;
    }

    @Override
    int minSources() {
        return 1;
    }

    @Test
    void knowsTypesAndOperationsByNcclsNumbers() {
        assertEquals(DataType.INT8.number(), Fold.INT8);
        assertEquals(DataType.UINT8.number(), Fold.UINT8);
        assertEquals(DataType.INT32.number(), Fold.INT32);
        assertEquals(DataType.UINT32.number(), Fold.UINT32);
        assertEquals(DataType.INT64.number(), Fold.INT64);
        assertEquals(DataType.UINT64.number(), Fold.UINT64);
        assertEquals(DataType.FLOAT16.number(), Fold.FLOAT16);
        assertEquals(DataType.FLOAT32.number(), Fold.FLOAT32);
        assertEquals(DataType.FLOAT64.number(), Fold.FLOAT64);
        assertEquals(DataType.BFLOAT16.number(), Fold.BFLOAT16);
        assertEquals(RedOp.SUM.number(), Fold.SUM);
        assertEquals(RedOp.PROD.number(), Fold.PROD);
        assertEquals(RedOp.MAX.number(), Fold.MAX);
        assertEquals(RedOp.MIN.number(), Fold.MIN);
        assertEquals(RedOp.AVG.number(), Fold.AVG);
        assertEquals(RedOp.values().length, Fold.OPS);
        for (int type = 0; type < Fold.TYPES; type++) {
            assertEquals(DataType.of(type).sizeBytes(), Fold.sizeBytes(type));
        }
    }

    @Test
    void refusesTypesThatItCannotFold() {
        long[] sources = new long[2];
        for (int count : new int[] {1, 100}) {
            assertThrows(
                    RuntimeException.class,
                    () -> Reductions.fold(DataType.FLOAT8E4M3.number(), 0, 0, sources, 2, count));
        }
    }
}
