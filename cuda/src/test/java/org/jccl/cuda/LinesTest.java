package org.jccl.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import org.jccl.call.Call;
import org.jccl.type.Operation;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.function.BooleanSupplier;

/**
 * A model of the kernels of {@code exchange.cu}, with the roles that they get: all warps of all
 * ranks in random orders of their steps, one rank slower than the others. No warp waits for ever,
 * no line is overwritten before it is taken, and every result is made of the right inputs. A warp
 * has one line at a time instead of four.
 */
final class LinesTest {
    private static final int SLOT_LINES = 5;
    private static final int MOST_LINES = 5 * SLOT_LINES;
    private static final int MOST_BLOCKS = 3;
    private static final int WARPS = 8;

    /** As in {@code exchange.cu}, in kernels of small parts. */
    private static final int RANKS_AT_ONCE = 4;

    private static final int ROUNDS = 60;
    private static final int KERNELS = 8;

    /** How often a step of the slow rank is put off. */
    private static final double SLOWNESS = 0.97;

    /** Of which collective, whose input, of which of its parts, and which line. */
    private record Bytes(int kernel, int writer, int part, int line) {}

    /** What a slot has: a line, and the number of its epoch. */
    private record Line(long epoch, Bytes bytes) {}

    /** A place in an output. */
    private record Place(int part, int line) {}

    private record Step(BooleanSupplier ready, Runnable run) {}

    private static final class Rank {
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

        Rank(int rank, int nRanks) {
            this.rank = rank;
            started = new long[nRanks];
            begun = new long[nRanks][MOST_BLOCKS];
            slots = new Line[2][nRanks][SLOT_LINES];
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

    private static final class Machine {
        final List<Rank> ranks = new ArrayList<>();

        Machine(int nRanks) {
            for (int r = 0; r < nRanks; r++) {
                ranks.add(new Rank(r, nRanks));
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

    /** One rank's part of a collective. */
    private static final class Kernel {
        final Machine machine;
        final Rank at;
        final int number;
        final Call call;
        final Roles roles;
        final int lines;
        final int blocks;
        final Map<Place, List<Bytes>> output = new HashMap<>();
        int warpsDone;

        Kernel(Machine machine, Rank at, int number, Call call, int lines, int most) {
            this.machine = machine;
            this.at = at;
            this.number = number;
            this.call = call;
            this.lines = lines;
            roles = Roles.of(call, at.rank, n());
            int atOnce = sets();
            blocks = Math.min(most, (Math.min(SLOT_LINES, lines) + atOnce - 1) / atOnce);
        }

        private int n() {
            return machine.ranks.size();
        }

        private boolean folds() {
            return call.operation().reduces();
        }

        private int sets() {
            return folds() ? WARPS : WARPS / n();
        }

        private static boolean has(int set, int rank) {
            return (set >> rank & 1) != 0;
        }

        private List<Integer> ranks(int set) {
            List<Integer> found = new ArrayList<>();
            for (int q = 0; q < n(); q++) {
                if (has(set, q)) {
                    found.add(q);
                }
            }
            return found;
        }

        void start() {
            for (int block = 0; block < blocks; block++) {
                new Block(block).start();
            }
        }

        void end(int block, long epoch, boolean several) {
            for (int b = block; b < MOST_BLOCKS; b += blocks) {
                at.epochs[b] = epoch;
                at.several[b] = several;
            }
        }

        private void warpEnds() {
            warpsDone++;
            if (warpsDone == blocks * WARPS) {
                assertEquals(expected(), output);
            }
        }

        private int inPart(int rank) {
            return roles.inStride() == 0 ? 0 : rank;
        }

        private Bytes input(int part, int line) {
            return new Bytes(number, at.rank, inPart(part), line);
        }

        private void keep(int part, int line, List<Bytes> bytes) {
            int place = roles.outStride() == 0 ? 0 : part;
            assertEquals(null, output.put(new Place(place, line), bytes), "what was there");
        }

        private Map<Place, List<Bytes>> expected() {
            Map<Place, List<Bytes>> expected = new HashMap<>();
            Operation op = call.operation();
            boolean each = op.out() == Operation.Parts.EACH;
            int theirs = op.in() == Operation.Parts.EACH ? at.rank : 0;
            for (int part = 0; part < (each ? n() : 1); part++) {
                int set = op.reduces() ? (1 << n()) - 1 : 1 << (each ? part : call.peer());
                for (int line = 0; line < lines && op.receives(at.rank, call.peer()); line++) {
                    int its = line;
                    List<Bytes> of =
                            ranks(set).stream()
                                    .map(q -> new Bytes(number, q, theirs, its))
                                    .toList();
                    expected.put(new Place(part, line), of);
                }
            }
            return expected;
        }

        /** A block; its warps meet at barriers. */
        private final class Block {
            final int block;
            final long first;
            final boolean several;
            final List<Queue<Step>> warps = new ArrayList<>();

            Block(int block) {
                this.block = block;
                first = at.epochs[block] + 1;
                several = at.several[block];
                for (int w = 0; w < WARPS; w++) {
                    warps.add(new ArrayDeque<>());
                }
            }

            void start() {
                int epochs = (lines + SLOT_LINES - 1) / SLOT_LINES;
                long needed = several ? first : first - 1;
                together(
                        () -> {
                            for (Rank other : machine.ranks) {
                                if (block == 0 && other != at) {
                                    other.started[at.rank] = first + epochs - 1;
                                }
                            }
                        });
                alone(() -> ranks(roles.readers()).stream().allMatch(q -> at.started[q] >= needed));
                for (int e = 0; e < epochs; e++) {
                    long epoch = first + e;
                    if (e > 0 && call.operation().rooted()) {
                        together(
                                () ->
                                        ranks(roles.sources() & ~(1 << at.rank))
                                                .forEach(q -> begin(q, epoch)));
                        alone(
                                () ->
                                        ranks(roles.readers()).stream()
                                                .allMatch(q -> at.begun[q][block] >= epoch - 1));
                    }
                    for (int w = 0; w < WARPS; w++) {
                        new Warp(warps.get(w), this, w).exchange(epoch, e * SLOT_LINES);
                    }
                }
                for (int w = 0; w < WARPS; w++) {
                    boolean last = w == WARPS - 1;
                    warps.get(w)
                            .add(
                                    new Step(
                                            () -> true,
                                            () -> {
                                                if (last) {
                                                    end(block, first + epochs - 1, epochs > 1);
                                                }
                                                warpEnds();
                                            }));
                }
                at.warps.addAll(warps);
            }

            private void begin(int q, long epoch) {
                machine.ranks.get(q).begun[at.rank][block] = epoch;
            }

            /** All warps come to a barrier, then the first one does something. */
            private void together(Runnable then) {
                int[] come = {0};
                for (Queue<Step> warp : warps) {
                    warp.add(new Step(() -> true, () -> come[0]++));
                }
                warps.getFirst().add(new Step(() -> come[0] == WARPS, then));
            }

            /** The first warp waits for a condition, the others for that one. */
            private void alone(BooleanSupplier condition) {
                boolean[] met = {false};
                warps.getFirst().add(new Step(condition, () -> met[0] = true));
                for (Queue<Step> warp : warps) {
                    warp.add(new Step(() -> met[0], () -> {}));
                }
            }
        }

        private final class Warp {
            final Queue<Step> steps;
            final int peer;
            final int mine;
            final int step;

            Warp(Queue<Step> steps, Block block, int warp) {
                this.steps = steps;
                boolean idle = !folds() && warp / n() >= sets();
                peer = (at.rank + warp % n()) % n();
                int set = folds() ? warp : warp / n();
                mine = idle ? SLOT_LINES : block.block * sets() + set;
                step = blocks * sets();
            }

            void exchange(long epoch, int first) {
                int end = Math.min(SLOT_LINES, lines - first);
                for (int line = mine; line < end; line += step) {
                    for (int i = 1; i < n(); i++) {
                        int reader = folds() ? (at.rank + i) % n() : peer;
                        if (has(roles.readers(), reader) && (folds() || i == 1)) {
                            send(reader, epoch, first, line);
                        }
                    }
                }
                for (int line = mine; line < end && roles.sources() != 0; line += step) {
                    if (folds()) {
                        fold(epoch, first, line);
                    } else if (has(roles.sources(), peer)) {
                        int its = line;
                        List<Bytes> taken = new ArrayList<>();
                        take(List.of(peer), epoch, first, line, taken);
                        then(() -> keep(peer, first + its, taken));
                    }
                }
            }

            private void then(Runnable run) {
                steps.add(new Step(() -> true, run));
            }

            private void send(int reader, long epoch, int first, int line) {
                Line sent = new Line(epoch, input(reader, first + line));
                Rank to = machine.ranks.get(reader);
                then(() -> to.slots[(int) (epoch & 1)][at.rank][line] = sent);
            }

            private void fold(long epoch, int first, int line) {
                List<Bytes> folded = new ArrayList<>();
                for (int source = 0; source < n(); source += RANKS_AT_ONCE) {
                    List<Integer> some = new ArrayList<>();
                    for (int q = source; q < Math.min(n(), source + RANKS_AT_ONCE); q++) {
                        some.add(q);
                    }
                    take(some, epoch, first, line, folded);
                }
                then(() -> keep(0, first + line, folded));
            }

            private @Nullable Line slot(int source, long epoch, int line) {
                return at.slots[(int) (epoch & 1)][source][line];
            }

            private boolean hasCome(int source, long epoch, int line) {
                Line found = slot(source, epoch, line);
                return source == at.rank || found != null && found.epoch() == epoch;
            }

            private void take(
                    List<Integer> sources, long epoch, int first, int line, List<Bytes> to) {
                steps.add(
                        new Step(
                                () -> sources.stream().allMatch(q -> hasCome(q, epoch, line)),
                                () -> {
                                    for (int q : sources) {
                                        Line found = slot(q, epoch, line);
                                        to.add(
                                                q == at.rank || found == null
                                                        ? input(q, first + line)
                                                        : found.bytes());
                                    }
                                }));
            }
        }
    }

    @Test
    void warpsNeverLockUpNorOverwrite() {
        List<Operation> operations = Calls.COLLECTIVES;
        for (int nRanks = 2; nRanks <= LaunchArguments.MOST_RANKS; nRanks++) {
            for (int round = 0; round < ROUNDS; round++) {
                Random random = new Random(nRanks * ROUNDS + round);
                Machine machine = new Machine(nRanks);
                int most = 1 + random.nextInt(MOST_BLOCKS);
                for (int k = 0; k < KERNELS; k++) {
                    Operation op = operations.get(random.nextInt(operations.size()));
                    int lines = 1 + random.nextInt(MOST_LINES);
                    Call call = Calls.of(op, 1000, random.nextInt(nRanks));
                    int number = k;
                    for (Rank rank : machine.ranks) {
                        rank.kernels.add(
                                () -> new Kernel(machine, rank, number, call, lines, most).start());
                    }
                }
                machine.run(random);
            }
        }
    }
}
