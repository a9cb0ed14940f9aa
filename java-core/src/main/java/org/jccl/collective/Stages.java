package org.jccl.collective;

import java.util.function.IntConsumer;

/** The stages that each chunk of a call goes through. */
final class Stages {
    private Stages() {}

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
