package org.jccl.reduce;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.jccl.oracle.Oracle;
import org.jccl.type.DataType;
import org.jccl.type.RedOp;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Random;

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

    @ParameterizedTest
    @EnumSource
    void dividesASumOfSumsAsTheOracleDoes(DataType type) {
        int count = 101;
        byte[][] inputs = new byte[3][];
        try (Arena arena = Arena.ofConfined()) {
            long[] sources = new long[3];
            for (int k = 0; k < 3; k++) {
                inputs[k] = Oracle.randomInput(type, RedOp.AVG, count, new Random(k));
                sources[k] = arena.allocateFrom(ValueLayout.JAVA_BYTE, inputs[k]).address();
            }
            MemorySegment result = arena.allocate((long) count * type.sizeBytes());
            long dst = result.address();
            Reductions.fold(type.number(), RedOp.SUM.number(), dst, sources, 2, count);
            long[] sums = {dst, sources[2]};
            Reductions.fold(type.number(), RedOp.SUM.number(), dst, sums, 2, count);
            Reductions.divide(type.number(), dst, 3, count);
            byte[] expected = Oracle.foldByNode(type, RedOp.AVG, inputs, new int[] {0, 0, 1});
            assertNull(Oracle.difference(type, expected, result.toArray(ValueLayout.JAVA_BYTE)));
        }
    }

    @Test
    void refusesTypesThatItCannotFold() {
        long[] sources = new long[2];
        for (int count : new int[] {1, 100}) {
            assertThrows(
                    RuntimeException.class,
                    () -> Reductions.fold(DataType.values().length, 0, 0, sources, 2, count));
        }
    }
}
