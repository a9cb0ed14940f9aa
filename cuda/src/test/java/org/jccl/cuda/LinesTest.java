package org.jccl.cuda;

import static org.jccl.cuda.LinesMachine.MOST_BLOCKS;
import static org.jccl.cuda.LinesMachine.WARPS;
import static org.junit.jupiter.api.Assertions.assertEquals;

import org.jccl.call.Call;
import org.jccl.cuda.LinesMachine.Bytes;
import org.jccl.cuda.LinesMachine.Line;
import org.jccl.cuda.LinesMachine.Machine;
import org.jccl.cuda.LinesMachine.Rank;
import org.jccl.cuda.LinesMachine.Step;
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
 * A model of the kernels of {@code exchange.cuh}, with the roles that they get: all warps of all
 * ranks in random orders of their steps, one rank slower than the others. No warp waits for ever,
 * no line is overwritten before it is taken, and every result is made of the right inputs. A warp
 * has one line at a time instead of four.
 */
final class LinesTest {
    private static final int FEW_SLOT_LINES = 5;

    /** So that an epoch of relays has three batches of one block's warps. */
    private static final int MANY_SLOT_LINES = 20;

    private static final int MOST_EPOCHS = 5;

    /** As in {@code exchange.cuh}, in kernels of small parts. */
    private static final int RANKS_AT_ONCE = 4;

    private static final int ROUNDS = 60;
    private static final int KERNELS = 8;

    /** A place in an output. */
    private record Place(int part, int line) {}

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
            int enough = (Math.min(machine.slotLines, lines) + atOnce - 1) / atOnce;
            int fit = relays() ? (machine.slotLines - 1) / (2 * atOnce) : enough;
            blocks = Math.min(most, Math.min(enough, fit));
        }

        private int n() {
            return machine.ranks.size();
        }

        private boolean relays() {
            return roles.rootless() < n();
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
            boolean each = op.out() == Operation.Parts.EACH || relays();
            for (int part = 0; part < (each ? n() : 1); part++) {
                if (relays() && part == call.peer()) {
                    continue;
                }
                int theirs = relays() ? part : op.in() == Operation.Parts.EACH ? at.rank : 0;
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
                int slotLines = machine.slotLines;
                int epochs = (lines + slotLines - 1) / slotLines;
                long needed = several ? first : first - 1;
                together(
                        () -> {
                            for (Rank other : machine.ranks) {
                                if (block == 0 && other != at) {
                                    other.started[at.rank] = first + epochs - 1;
                                }
                            }
                        });
                List<Integer> readers = ranks(roles.readers() | roles.relays());
                alone(() -> readers.stream().allMatch(q -> at.started[q] >= needed));
                for (int e = 0; e < epochs; e++) {
                    long epoch = first + e;
                    if (e > 0 && call.operation().rooted() && !relays()) {
                        together(
                                () ->
                                        ranks(roles.sources() & ~(1 << at.rank))
                                                .forEach(q -> begin(q, epoch)));
                        alone(
                                () ->
                                        ranks(roles.readers()).stream()
                                                .allMatch(q -> at.begun[q][block] >= epoch - 1));
                    }
                    for (int w = 0; w < WARPS && !relays(); w++) {
                        new Warp(warps.get(w), this, w).exchange(epoch, e * slotLines);
                    }
                }
                for (int w = 0; w < WARPS && relays(); w++) {
                    new Warp(warps.get(w), this, w).relay(first, epochs);
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
                mine = idle ? machine.slotLines : block.block * sets() + set;
                step = blocks * sets();
            }

            void exchange(long epoch, int first) {
                int end = Math.min(machine.slotLines, lines - first);
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

            void relay(long begin, int epochs) {
                int slotLines = machine.slotLines;
                int ofEpoch = (slotLines + step - 1) / step;
                int last = lines - (epochs - 1) * slotLines;
                int batches = (epochs - 1) * ofEpoch + (last + step - 1) / step;
                int taken = roles.relayed() != 0 ? 2 : 1;
                for (int i = 0; i < batches + taken; i++) {
                    for (int batch : i < taken ? List.of(i) : List.of(i, i - taken)) {
                        int first = batch / ofEpoch * slotLines;
                        int line = mine + batch % ofEpoch * step;
                        boolean there = batch < batches && line < slotLines;
                        if (there && first + line < lines) {
                            relay(begin + batch / ofEpoch, first, line, batch == i);
                        }
                    }
                }
            }

            private void relay(long epoch, int first, int line, boolean sends) {
                if (sends) {
                    for (int i = 1; i < n(); i++) {
                        int reader = (at.rank + i) % n();
                        if (has(roles.readers(), reader)) {
                            send(reader, epoch, first, line);
                        }
                    }
                } else if (roles.relayed() != 0) {
                    takeRelayed(epoch, first, line);
                } else {
                    fold(epoch, first, line);
                }
            }

            private void then(Runnable run) {
                steps.add(new Step(() -> true, run));
            }

            private void send(int reader, long epoch, int first, int line) {
                write(reader, epoch, line, List.of(input(reader, first + line)));
            }

            private void write(int reader, long epoch, int line, List<Bytes> bytes) {
                Rank to = machine.ranks.get(reader);
                then(() -> to.slots[(int) (epoch & 1)][at.rank][line] = new Line(epoch, bytes));
            }

            private void takeRelayed(long epoch, int first, int line) {
                for (int source : ranks(roles.relayed())) {
                    List<Bytes> taken = new ArrayList<>();
                    take(List.of(source), epoch, first, line, taken);
                    then(() -> keep(source, first + line, taken));
                }
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
                if (relays()) {
                    write(roles.rootless(), epoch, line, folded);
                } else {
                    then(() -> keep(0, first + line, folded));
                }
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
                                        to.addAll(
                                                q == at.rank || found == null
                                                        ? List.of(input(q, first + line))
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
                boolean relays = random.nextInt(3) == 0;
                int slotLines = relays ? MANY_SLOT_LINES : FEW_SLOT_LINES;
                Machine machine = new Machine(nRanks, slotLines);
                int most = 1 + random.nextInt(MOST_BLOCKS);
                for (int k = 0; k < KERNELS; k++) {
                    Operation op = operations.get(random.nextInt(operations.size()));
                    int lines = 1 + random.nextInt(MOST_EPOCHS * slotLines);
                    // A large reduce is relayed.
                    long bytes = relays ? 2 << 20 : 1000;
                    Call call = Calls.of(op, bytes, random.nextInt(nRanks));
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
