package org.jccl.reduce;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.jccl.oracle.Oracle;
import org.jccl.type.DataType;
import org.jccl.type.RedOp;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.Stream;

/** The contract of every variant; the seed is part of each failure's message. */
abstract class FoldContractTest {
    private static final int[] COUNTS = {0, 1, 2, 15, 16, 17, 63, 129, 1023};
    private static final int[] LONG_COUNTS = {4099, 65537};

    /** More than a byte can count. */
    private static final int MANY = 300;

    /** The variant under test. */
    abstract Fold fold();

    /** The smallest number of sources that it takes. */
    int minSources() {
        return 2;
    }

    static Stream<Arguments> typesAndOps() {
        return Stream.of(DataType.values())
                .flatMap(type -> Stream.of(RedOp.values()).map(op -> Arguments.of(type, op)));
    }

    static Stream<Arguments> halvesAndOps() {
        return typesAndOps().filter(both -> ((DataType) both.get()[0]).sizeBytes() == 2);
    }

    static Stream<Arguments> bytesAndOps() {
        return typesAndOps().filter(both -> ((DataType) both.get()[0]).sizeBytes() == 1);
    }

    @ParameterizedTest
    @MethodSource("typesAndOps")
    void agreesWithTheOracle(DataType type, RedOp op) {
        Case shared = new Case(type, op);
        for (int n = minSources(); n <= 9; n++) {
            for (int count : COUNTS) {
                shared.check(n, count, 0, -1);
            }
        }
        for (int count : LONG_COUNTS) {
            for (int n = minSources(); n <= 3; n++) {
                shared.check(n, count, 0, -1);
            }
        }
        shared.check(4, 9001, 0, -1);
    }

    @ParameterizedTest
    @MethodSource("typesAndOps")
    void foldsManySources(DataType type, RedOp op) {
        Case shared = new Case(type, op);
        shared.check(MANY, 17, 0, -1);
        shared.check(33, 1023, 0, -1);
    }

    @ParameterizedTest
    @MethodSource("typesAndOps")
    void takesAnyAddress(DataType type, RedOp op) {
        Case shared = new Case(type, op);
        for (int misalignment : new int[] {1, 2, 3, 7, 31, 63}) {
            shared.check(2, 1023, misalignment, -1);
            shared.check(3, 17, misalignment, -1);
            shared.check(5, 5000, misalignment, -1);
        }
    }

    @ParameterizedTest
    @MethodSource("typesAndOps")
    void writesOverAnyOneOfItsSources(DataType type, RedOp op) {
        Case shared = new Case(type, op);
        for (int n = minSources(); n <= 5; n++) {
            for (int inPlace = 0; inPlace < n; inPlace++) {
                shared.check(n, 3, 0, inPlace);
                shared.check(n, 1023, 1, inPlace);
            }
            shared.check(n, 9001, 0, n - 1);
        }
    }

    /** All bit patterns against ordinary and special ones: every NaN and every rounding. */
    @ParameterizedTest
    @MethodSource("halvesAndOps")
    void foldsEveryBitPatternOfSixteenBits(DataType type, RedOp op) {
        int[] partners = {0x0000, 0x3c00, 0x3f81, 0x7c00, 0xff80, 0x7fff, 0xffff, 0x7f81, 0x0001};
        Case shared = new Case(type, op);
        for (int partner : partners) {
            shared.checkPatterns(2, partner);
            shared.checkPatterns(3, partner);
        }
        shared.checkPatterns(5, 0x3f81);
    }

    /** Every pair of codes, and every third code after some of them. */
    @ParameterizedTest
    @MethodSource("bytesAndOps")
    void foldsEveryBitPatternOfEightBits(DataType type, RedOp op) {
        byte[] left = new byte[1 << 16];
        byte[] right = new byte[1 << 16];
        for (int pair = 0; pair < 1 << 16; pair++) {
            left[pair] = (byte) pair;
            right[pair] = (byte) (pair >> 8);
        }
        Case shared = new Case(type, op);
        String what = type + " " + op + " of all pairs";
        shared.judge(new byte[][] {left, right}, 0, -1, what);
        for (int third : new int[] {0x01, 0x3b, 0x7b, 0x7c, 0x7e, 0xfc, 0xff, 0xfe, 0xb9}) {
            byte[] same = new byte[1 << 16];
            Arrays.fill(same, (byte) third);
            shared.judge(new byte[][] {left, right, same}, 0, -1, what + " and " + third);
        }
    }

    /** Inputs of one type and operation, and the judgement of one call. */
    private final class Case {
        private final DataType type;
        private final RedOp op;
        private final long seed = new Random().nextLong();
        private final Random random = new Random(seed);

        /** The longest input of each source so far; shorter ones are its beginning. */
        private final byte[][] longest = new byte[MANY][0];

        Case(DataType type, RedOp op) {
            this.type = type;
            this.op = op;
        }

        private byte[] input(int k, int bytes) {
            if (longest[k].length < bytes) {
                int count = Math.max(1023, bytes / type.sizeBytes());
                longest[k] = Oracle.randomInput(type, op, count, random);
            }
            return Arrays.copyOf(longest[k], bytes);
        }

        /**
         * Folds once.
         *
         * @param inPlace the source that is also the destination, or -1
         */
        void check(int n, int count, int misalignment, int inPlace) {
            String what =
                    String.format(
                            "%s %s n=%d count=%d misalignment=%d inPlace=%d seed=%d",
                            type, op, n, count, misalignment, inPlace, seed);
            byte[][] inputs = new byte[n][];
            for (int k = 0; k < n; k++) {
                inputs[k] = input(k, count * type.sizeBytes());
            }
            judge(inputs, misalignment, inPlace, what);
        }

        /** Folds all 65,536 patterns and n - 1 times the same partner. */
        void checkPatterns(int n, int partner) {
            byte[][] inputs = new byte[n][];
            for (int k = 0; k < n; k++) {
                ByteBuffer input = ByteBuffer.allocate(2 << 16).order(ByteOrder.LITTLE_ENDIAN);
                for (int pattern = 0; pattern < 1 << 16; pattern++) {
                    input.putShort((short) (k == 0 ? pattern : partner));
                }
                inputs[k] = input.array();
            }
            judge(inputs, 0, -1, String.format("%s %s n=%d with 0x%x", type, op, n, partner));
        }

        private void judge(byte[][] inputs, int misalignment, int inPlace, String what) {
            int n = inputs.length;
            int bytes = inputs[0].length;
            int count = bytes / type.sizeBytes();
            Guarded[] buffers = new Guarded[n];
            long[] sources = new long[n + 1];
            try (Arena arena = Arena.ofConfined()) {
                for (int k = 0; k < n; k++) {
                    buffers[k] = new Guarded(arena, bytes, misalignment * (k + 1) % 64);
                    buffers[k].put(inputs[k]);
                    sources[k] = buffers[k].address();
                }
                Guarded dst =
                        inPlace < 0 ? new Guarded(arena, bytes, misalignment) : buffers[inPlace];
                fold().fold(type.number(), op.number(), dst.address(), sources, n, count);
                byte[] expected = Oracle.fold(type, op, inputs);
                assertNull(Oracle.difference(type, expected, dst.get()), what);
                dst.assertGuardsUntouched(what);
                for (int k = 0; k < n; k++) {
                    if (k != inPlace) {
                        assertArrayEquals(inputs[k], buffers[k].get(), what + ": source " + k);
                        buffers[k].assertGuardsUntouched(what);
                    }
                }
            }
        }
    }
}
