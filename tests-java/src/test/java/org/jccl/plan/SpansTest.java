package org.jccl.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

import java.util.BitSet;
import java.util.Random;

/** Compared with a set of bits. */
final class SpansTest {
    private static final int BYTES = 200;
    private static final int LONGEST = 12;

    @Test
    void rangesThatWereAddedAreFound() {
        Random random = new Random(7);
        for (int round = 0; round < 300; round++) {
            Spans spans = new Spans();
            BitSet bits = new BitSet();
            for (int i = 0; i < 30; i++) {
                int from = random.nextInt(BYTES);
                int to = from + 1 + random.nextInt(LONGEST);
                int seen = bits.nextSetBit(from);
                boolean any = seen >= 0 && seen < to;
                assertEquals(any, spans.overlap(from, to), from + " to " + to + " of " + bits);
                if (random.nextBoolean()) {
                    spans.add(from, to);
                    bits.set(from, to);
                }
            }
        }
    }
}
