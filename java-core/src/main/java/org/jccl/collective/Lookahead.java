package org.jccl.collective;

import org.jccl.schedule.Limits;

import java.util.function.IntConsumer;

/** Orders of the chunks of a call. */
final class Lookahead {
    private Lookahead() {}

    /** Whether the ring has enough slots for {@link #order}. */
    static boolean possible(Limits limits) {
        return limits.ringSlots() >= 2;
    }

    /**
     * The order where all ranks contribute to every chunk and read all contributions to it:
     * contribute to chunk c+d, read chunk c, with d = 1 if the ring allows it, else 0.
     *
     * <p>A rank that contributes to chunk c has read chunk c-d-2 of everybody at the least, hence
     * everybody had contributed to that chunk and read chunk c-2d-2: a ring of 2d+2 slots needs no
     * acknowledgements.
     */
    static void order(int chunks, Limits limits, IntConsumer contribute, IntConsumer read) {
        if (limits.ringSlots() >= 4) {
            interleave(chunks, contribute, read);
        } else {
            interleave(chunks, contribute.andThen(read));
        }
    }

    /**
     * Calls every stage once for each chunk: stage 0 of chunk c, then stage 1 of chunk c-1 and so
     * on, so that nobody waits for the stage that it has just begun.
     */
    static void interleave(int chunks, IntConsumer... stages) {
        for (int i = 0; i < chunks + stages.length - 1; i++) {
            for (int k = 0; k < stages.length; k++) {
                if (i >= k && i - k < chunks) {
                    stages[k].accept(i - k);
                }
            }
        }
    }
}
