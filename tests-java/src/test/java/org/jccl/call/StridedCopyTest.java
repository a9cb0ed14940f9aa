package org.jccl.call;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Compares copies of random shapes with one that goes over the indices element by element. */
final class StridedCopyTest {
    private static final int ROUNDS = 500;

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 8, 16})
    void everyElementAndNothingElseIsCopied(int elementBytes) {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        for (int round = 0; round < ROUNDS; round++) {
            check(random, elementBytes, "seed " + seed + ", round " + round);
        }
    }

    private static void check(Random random, int elementBytes, String which) {
        int dimensions = random.nextInt(5);
        long[] counts = new long[dimensions];
        for (int i = 0; i < dimensions; i++) {
            counts[i] = random.nextInt(20) == 0 ? 0 : 1 + random.nextInt(5);
        }
        long[] from = strides(random, counts, elementBytes);
        long[] to = strides(random, counts, elementBytes);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment source = arena.allocate(span(counts, from, elementBytes));
            MemorySegment target = arena.allocate(span(counts, to, elementBytes));
            MemorySegment wanted = arena.allocate(target.byteSize());
            for (long i = 0; i < source.byteSize(); i++) {
                source.set(ValueLayout.JAVA_BYTE, i, (byte) (1 + random.nextInt(255)));
            }
            long[] starts = {start(counts, from), start(counts, to)};
            slowly(source, wanted, starts, counts, from, to, elementBytes);
            List<StridedCopy.Extent> extents = new ArrayList<>();
            for (int i = 0; i < dimensions; i++) {
                extents.add(new StridedCopy.Extent(counts[i], from[i], to[i]));
            }
            StridedCopy.of(
                            source.address() + starts[0],
                            target.address() + starts[1],
                            elementBytes,
                            extents)
                    .run();
            assertArrayEquals(
                    wanted.toArray(ValueLayout.JAVA_BYTE),
                    target.toArray(ValueLayout.JAVA_BYTE),
                    which);
        }
    }

    /** Distances of an array whose dimensions lie in a random order, with gaps and backwards. */
    private static long[] strides(Random random, long[] counts, int elementBytes) {
        long[] strides = new long[counts.length];
        boolean[] placed = new boolean[counts.length];
        long next = elementBytes;
        for (int i = 0; i < counts.length; i++) {
            int k = random.nextInt(counts.length);
            while (placed[k]) {
                k = (k + 1) % counts.length;
            }
            placed[k] = true;
            next += random.nextInt(3) == 0 ? elementBytes * random.nextInt(3) : 0;
            strides[k] = random.nextInt(6) == 0 ? -next : next;
            next *= Math.max(1, counts[k]);
        }
        return strides;
    }

    private static long span(long[] counts, long[] strides, int elementBytes) {
        long bytes = elementBytes;
        for (int i = 0; i < counts.length; i++) {
            bytes += Math.max(0, counts[i] - 1) * Math.abs(strides[i]);
        }
        return bytes;
    }

    /** The place of the first element; those with negative distances lie before it. */
    private static long start(long[] counts, long[] strides) {
        long at = 0;
        for (int i = 0; i < counts.length; i++) {
            at += strides[i] < 0 ? Math.max(0, counts[i] - 1) * -strides[i] : 0;
        }
        return at;
    }

    private static void slowly(
            MemorySegment source,
            MemorySegment target,
            long[] starts,
            long[] counts,
            long[] from,
            long[] to,
            int elementBytes) {
        long total = 1;
        for (long count : counts) {
            total *= count;
        }
        for (long element = 0; element < total; element++) {
            long rest = element;
            long s = starts[0];
            long t = starts[1];
            for (int i = 0; i < counts.length; i++) {
                s += rest % counts[i] * from[i];
                t += rest % counts[i] * to[i];
                rest /= counts[i];
            }
            MemorySegment.copy(source, s, target, t, elementBytes);
        }
    }
}
