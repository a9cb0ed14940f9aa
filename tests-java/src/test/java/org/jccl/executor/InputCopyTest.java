package org.jccl.executor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.call.Call;
import org.jccl.platform.Memory;
import org.jccl.type.DataType;
import org.jccl.type.Operation;
import org.jccl.type.PreMulSum;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** What a rank gives in place of its caller's input. */
final class InputCopyTest {
    private static final int COUNT = 3_000_001;
    private static final int RANKS = 2;

    @Test
    void aLargeInputIsMultipliedInTurns() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment input = input(arena);
            byte[] factor = {0, 0, 0, 0x40};
            PreMulSum twice = new PreMulSum(5, DataType.FLOAT32, factor, 0, () -> {});
            Call call = call(Operation.ALL_REDUCE, input, COUNT).premultipliedBy(twice);
            InputCopy copy = new InputCopy(RANKS);
            long address = copy.begin(call);
            assertTrue(turns(copy) > 2);
            for (int i = 0; i < COUNT; i++) {
                assertEquals(2f * i, Float.intBitsToFloat(Memory.getInt(address + 4L * i)));
            }
            copy.close();
        }
    }

    @Test
    void aCopyStaysWhileTheInputChanges() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment input = input(arena);
            InputCopy copy = new InputCopy(RANKS);
            long address = copy.begin(call(Operation.ALL_TO_ALL, input, COUNT / RANKS));
            assertTrue(turns(copy) > 2);
            input.fill((byte) 7);
            for (int i = 0; i < COUNT / RANKS * RANKS; i++) {
                assertEquals(i, Float.intBitsToFloat(Memory.getInt(address + 4L * i)));
            }
            copy.close();
        }
    }

    private static int turns(InputCopy copy) {
        int turns = 1;
        while (!copy.make()) {
            turns++;
        }
        return turns;
    }

    private static Call call(Operation operation, MemorySegment input, long count) {
        return new Call()
                .of(operation)
                .buffers(input.address(), input.address())
                .elements(count, DataType.FLOAT32.number());
    }

    private static MemorySegment input(Arena arena) {
        MemorySegment input = arena.allocate(4L * COUNT, 64);
        for (int i = 0; i < COUNT; i++) {
            input.setAtIndex(ValueLayout.JAVA_FLOAT, i, i);
        }
        return input;
    }
}
