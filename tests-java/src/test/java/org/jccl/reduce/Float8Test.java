package org.jccl.reduce;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.oracle.SmallFloat;
import org.jccl.type.DataType;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

final class Float8Test {
    static List<Format> formats() {
        return List.of(
                new Format("E4M3", Float8.E4M3, SmallFloat.E4M3, 0x7e),
                new Format("E5M2", Float8.E5M2, SmallFloat.E5M2, 0x7b));
    }

    /** A format, its judge, and the code of its largest number. */
    record Format(String name, Float8 tested, SmallFloat judge, int largest) {
        private int encode(float value) {
            return tested.round(value) & 0xff;
        }

        private void check(float value) {
            if (judge.encode(value) != encode(value)) {
                // The sentence is made for a failure alone, as there are millions of values.
                assertEquals(judge.encode(value), encode(value), name + Float.toHexString(value));
            }
        }
    }

    @ParameterizedTest
    @MethodSource("formats")
    void decodesEveryCode(Format format) {
        float[] values = new float[256];
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment codes = arena.allocate(256);
            for (int code = 0; code < 256; code++) {
                codes.set(ValueLayout.JAVA_BYTE, code, (byte) code);
            }
            Tiles tiles = Tiles.of(DataType.FLOAT8E4M3);
            format.tested.widen(tiles, values, codes.address(), 256);
        }
        for (int code = 0; code < 256; code++) {
            float value = format.tested.widen(code);
            assertEquals((float) format.judge.decode(code), value);
            assertEquals(value, values[code]);
        }
    }

    @ParameterizedTest
    @MethodSource("formats")
    void encodesEveryNumberToItself(Format format) {
        for (int code = 0; code < 256; code++) {
            float value = format.tested.widen(code);
            if (Float.isFinite(value)) {
                assertEquals(code, format.encode(value));
            }
        }
    }

    @ParameterizedTest
    @MethodSource("formats")
    void infinityBecomesTheLargestNumberAndNanKeepsItsSign(Format format) {
        assertEquals(format.largest, format.encode(Float.POSITIVE_INFINITY));
        assertEquals(format.largest | 0x80, format.encode(Float.NEGATIVE_INFINITY));
        assertEquals(format.largest, format.encode(Float.MAX_VALUE));
        for (int payload : new int[] {1, 0x400000, 0x7fffff, 0x2aaaaa}) {
            assertEquals(0x7f, format.encode(Float.intBitsToFloat(0x7f800000 | payload)));
            assertEquals(0xff, format.encode(Float.intBitsToFloat(0xff800000 | payload)));
        }
        assertTrue(Float.isNaN(format.tested.widen(0x7f)));
        assertTrue(Float.isNaN(format.tested.widen(0xff)));
    }

    @ParameterizedTest
    @MethodSource("formats")
    void roundsWhatLiesHalfwayAndItsNeighbours(Format format) {
        for (int code = 0; code < format.largest; code++) {
            float below = format.tested.widen(code);
            float above = format.tested.widen(code + 1);
            float middle = (below + above) / 2;
            for (float value : new float[] {below, middle, above}) {
                format.check(value);
                format.check(-value);
                format.check(Math.nextUp(value));
                format.check(-Math.nextUp(value));
                format.check(Math.nextDown(value));
                format.check(-Math.nextDown(value));
            }
        }
    }

    /**
     * All that a code depends on: the upper bits, and whether the lower ones are more than zero.
     */
    @ParameterizedTest
    @MethodSource("formats")
    void roundsFloatsOfEveryMagnitude(Format format) {
        for (int upper = 0; upper < 1 << 20; upper++) {
            int bits = upper << 12;
            if (!Float.isNaN(Float.intBitsToFloat(bits))) {
                format.check(Float.intBitsToFloat(bits));
                format.check(Float.intBitsToFloat(bits + 1));
                format.check(Float.intBitsToFloat(bits + 0xfff));
            }
        }
    }
}
