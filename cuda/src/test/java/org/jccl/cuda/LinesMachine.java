package org.jccl.cuda;

import static org.junit.jupiter.api.Assertions.fail;

import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.function.BooleanSupplier;

/** The GPUs of {@link LinesTest}: what ranks write into each other's memory, and their warps. */
final class LinesMachine {
    static final int MOST_BLOCKS = 3;
    static final int WARPS = 8;

    /** How often a step of the slow rank is put off. */
    private static final double SLOWNESS = 0.97;

    /** Of which collective, whose input, of which of its parts, and which line. */
    record Bytes(int kernel, int writer, int part, int line) {}

    /** What a slot has: a line, and the number of its epoch. */
    record Line(long epoch, List<Bytes> bytes) {}

    record Step(BooleanSupplier ready, Runnable run) {}

    private LinesMachine() {}

    static final class Rank {
        final int rank;

        /** By rank, the last epoch of the kernel that it has started. */
        final long[] started;

        /** By rank and block, the epoch that the block has begun. */
        final long[][] begun;

        /** By block, its last epoch, and whether that was not the only one of its kernel. */
        final long[] epochs = new long[MOST_BLOCKS];

        final boolean[] several = new boolean[MOST_BLOCKS];

        /** By parity of the epoch, writer and line. */
        final @Nullable Line[][][] slots;

        final Queue<Runnable> kernels = new ArrayDeque<>();
        final List<Queue<Step>> warps = new ArrayList<>();

        Rank(int rank, int nRanks, int slotLines) {
            this.rank = rank;
            started = new long[nRanks];
            begun = new long[nRanks][MOST_BLOCKS];
            slots = new Line[2][nRanks][slotLines];
        }

        /** Starts the next kernel if the one before is over. */
        boolean isOver() {
            warps.removeIf(Queue::isEmpty);
            while (warps.isEmpty() && !kernels.isEmpty()) {
                kernels.remove().run();
            }
            return warps.isEmpty();
        }

        @Nullable Step ready(Random random) {
            Queue<Step> warp = warps.get(random.nextInt(warps.size()));
            return take(warp);
        }

        @Nullable Step ready() {
            for (Queue<Step> warp : warps) {
                Step step = take(warp);
                if (step != null) {
                    return step;
                }
            }
            return null;
        }

        private static @Nullable Step take(Queue<Step> warp) {
            return warp.isEmpty() || !warp.element().ready().getAsBoolean() ? null : warp.remove();
        }
    }

    static final class Machine {
        final List<Rank> ranks = new ArrayList<>();
        final int slotLines;

        Machine(int nRanks, int slotLines) {
            this.slotLines = slotLines;
            for (int r = 0; r < nRanks; r++) {
                ranks.add(new Rank(r, nRanks, slotLines));
            }
        }

        void run(Random random) {
            Rank slow = ranks.get(random.nextInt(ranks.size()));
            List<Rank> going = new ArrayList<>(ranks);
            while (true) {
                going.removeIf(Rank::isOver);
                if (going.isEmpty()) {
                    return;
                }
                Rank rank = going.get(random.nextInt(going.size()));
                boolean putOff = rank == slow && random.nextDouble() < SLOWNESS;
                Step step = putOff ? null : rank.ready(random);
                if (step == null && random.nextInt(WARPS) == 0) {
                    step = any(going, slow);
                }
                if (step != null) {
                    step.run().run();
                }
            }
        }

        private static Step any(List<Rank> going, Rank slow) {
            Step found = null;
            for (Rank rank : going) {
                found = found == null && rank != slow ? rank.ready() : found;
            }
            if (found == null && going.contains(slow)) {
                found = slow.ready();
            }
            return found == null ? fail("all ranks wait") : found;
        }
    }
}
