package org.jccl.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import org.jccl.call.Call;
import org.jccl.type.Operation;
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
 * A model of the program of a lane of {@code pieces.cu}, with the roles that its kernels get, on
 * all ranks in random orders of their steps: no rank waits for ever, no piece is overwritten before
 * it is taken, and every result is made of the right inputs.
 */
final class LanesTest {
    /** As in {@code pieces.cuh}. */
    private static final int RING_PIECES = 3;

    private static final int ROUNDS = 200;
    private static final int KERNELS = 6;
    private static final int MOST_TURNS = 8;

    /** Bytes: of which collective, those of whose input, of which of its parts, and which piece. */
    private record Bytes(int kernel, List<Integer> ranks, int part, int piece) {}

    /** What becomes of a place in an output. */
    private record Place(int part, int piece) {}

    private record Step(BooleanSupplier ready, Runnable run) {}

    /** A ring in the memory of one rank for another one, and its counts. */
    private static final class Ring {
        final Bytes[] places = new Bytes[RING_PIECES];
        int put;
        int taken;

        boolean hasRoom(int number) {
            return number < RING_PIECES || taken >= number + 1 - RING_PIECES;
        }
    }

    /** All ranks' memories; rings by owner and source. */
    private static final class Machine {
        final int nRanks;
        final Ring[][] rings;
        final List<Rank> ranks = new ArrayList<>();

        Machine(int nRanks) {
            this.nRanks = nRanks;
            rings = new Ring[nRanks][nRanks];
            for (int r = 0; r < nRanks; r++) {
                for (int q = 0; q < nRanks; q++) {
                    rings[r][q] = new Ring();
                }
                ranks.add(new Rank(this, r));
            }
        }

        void run(Random random) {
            List<Rank> going = new ArrayList<>(ranks);
            while (!going.isEmpty()) {
                List<Rank> able = going.stream().filter(Rank::isReady).toList();
                assertFalse(able.isEmpty(), "all ranks wait");
                Rank next = able.get(random.nextInt(able.size()));
                next.steps.remove().run().run();
                going.removeIf(rank -> rank.steps.isEmpty());
            }
        }
    }

    private static final class Rank {
        final Machine machine;
        final int rank;
        final int[] sent;
        final int[] received;
        final Queue<Step> steps = new ArrayDeque<>();

        Rank(Machine machine, int rank) {
            this.machine = machine;
            this.rank = rank;
            sent = new int[machine.nRanks];
            received = new int[machine.nRanks];
        }

        boolean isReady() {
            return steps.element().ready().getAsBoolean();
        }

        void add(BooleanSupplier ready, Runnable run) {
            steps.add(new Step(ready, run));
        }

        /** Adds the steps of a kernel. */
        void add(int number, Call call, int pieces) {
            Kernel kernel = new Kernel(this, number, call, Roles.of(call, rank, machine.nRanks));
            Roles roles = kernel.roles;
            int turns = pieces + (roles.relayed() != 0 ? 2 : 1);
            for (int turn = 0; turn < turns; turn++) {
                int i = turn;
                boolean sends = roles.readers() != 0 && i < pieces;
                boolean takes = roles.sources() != 0 && i > 0 && i <= pieces;
                boolean later = takes && !kernel.relays();
                if (sends) {
                    add(() -> kernel.hasRoom(roles.readers(), i), () -> kernel.send(i));
                }
                if (sends && !later) {
                    add(() -> true, () -> kernel.tell(roles.readers(), i));
                }
                if (takes) {
                    int j = i - 1;
                    add(
                            () ->
                                    kernel.hasCome(roles.sources(), j)
                                            && kernel.hasRoom(roles.relays(), j),
                            () -> kernel.take(j));
                    add(
                            () -> true,
                            () -> {
                                kernel.tell(sends && later ? roles.readers() : 0, i);
                                kernel.tell(roles.relays(), j);
                                kernel.free(roles.sources(), j);
                            });
                }
                if (roles.relayed() != 0 && i > 1) {
                    int j = i - 2;
                    add(() -> kernel.hasCome(roles.relayed(), j), () -> kernel.takeRelayed(j));
                    add(() -> true, () -> kernel.free(roles.relayed(), j));
                }
            }
            add(() -> true, () -> kernel.end(pieces));
        }
    }

    /** One rank's part of a collective. */
    private record Kernel(Rank at, int number, Call call, Roles roles, Map<Place, Bytes> output) {
        Kernel(Rank at, int number, Call call, Roles roles) {
            this(at, number, call, roles, new HashMap<>());
        }

        private int n() {
            return at.machine.nRanks;
        }

        private boolean relays() {
            return roles.rootless() < n();
        }

        private int part(int rank) {
            return rank - (rank > roles.rootless() ? 1 : 0);
        }

        private int inPart(int rank) {
            return roles.inStride() == 0 ? 0 : part(rank);
        }

        private int outPart(int rank) {
            return roles.outStride() == 0 ? 0 : part(rank);
        }

        private List<Integer> ranks(int set) {
            List<Integer> found = new ArrayList<>();
            for (int q = 0; q < n(); q++) {
                if ((set >> q & 1) != 0) {
                    found.add(q);
                }
            }
            return found;
        }

        private Ring ring(int owner, int source) {
            return at.machine.rings[owner][source];
        }

        boolean hasRoom(int readers, int i) {
            return ranks(readers).stream().allMatch(q -> ring(q, at.rank).hasRoom(at.sent[q] + i));
        }

        boolean hasCome(int sources, int i) {
            return ranks(sources).stream()
                    .allMatch(q -> q == at.rank || ring(at.rank, q).put > at.received[q] + i);
        }

        private void put(int reader, int i, Bytes bytes) {
            ring(reader, at.rank).places[(at.sent[reader] + i) % RING_PIECES] = bytes;
        }

        void send(int i) {
            for (int q : ranks(roles.readers())) {
                put(q, i, new Bytes(number, List.of(at.rank), inPart(q), i));
            }
        }

        void tell(int readers, int i) {
            for (int q : ranks(readers)) {
                ring(q, at.rank).put = at.sent[q] + i + 1;
            }
        }

        void free(int sources, int i) {
            for (int q : ranks(sources & ~(1 << at.rank))) {
                ring(at.rank, q).taken = at.received[q] + i + 1;
            }
        }

        private Bytes takenFrom(int source, int i) {
            if (source == at.rank) {
                return new Bytes(number, List.of(source), inPart(source), i);
            }
            Bytes found = ring(at.rank, source).places[(at.received[source] + i) % RING_PIECES];
            assertEquals(number, found.kernel(), "whose piece is in the place");
            assertEquals(i, found.piece(), "the piece that is in the place");
            return found;
        }

        void take(int i) {
            if (call.operation().reduces()) {
                fold(i);
            } else if (!relays()) {
                copy(roles.sources(), i);
            } else if (at.rank == roles.rootless()) {
                for (int part = 0; part < n() - 1; part++) {
                    keep(part, i, new Bytes(number, List.of(at.rank), part, i));
                }
            } else {
                Bytes mine = takenFrom(roles.rootless(), i);
                ranks(roles.relays()).forEach(q -> put(q, i, mine));
                keep(part(at.rank), i, mine);
            }
        }

        private void fold(int i) {
            List<Integer> folded = new ArrayList<>();
            int part = inPart(at.rank);
            for (int q = 0; q < n(); q++) {
                Bytes next = takenFrom(q, i);
                assertEquals(part, next.part());
                folded.addAll(next.ranks());
            }
            Bytes result = new Bytes(number, folded, part, i);
            if (relays()) {
                put(roles.rootless(), i, result);
            } else {
                keep(0, i, result);
            }
        }

        void takeRelayed(int i) {
            copy(roles.relayed(), i);
        }

        private void copy(int sources, int i) {
            for (int q : ranks(sources)) {
                keep(outPart(q), i, takenFrom(q, i));
            }
        }

        private void keep(int part, int i, Bytes bytes) {
            assertEquals(null, output.put(new Place(part, i), bytes), "what was there");
        }

        void end(int pieces) {
            for (int q : ranks(roles.readers() | roles.relays())) {
                at.sent[q] += pieces;
            }
            for (int q : ranks((roles.sources() | roles.relayed()) & ~(1 << at.rank))) {
                at.received[q] += pieces;
            }
            assertEquals(expected(pieces), output);
        }

        private Map<Place, Bytes> expected(int pieces) {
            Map<Place, Bytes> expected = new HashMap<>();
            Operation op = call.operation();
            if (!op.receives(at.rank, call.peer())) {
                return expected;
            }
            boolean each = op.out() == Operation.Parts.EACH;
            int parts = relays() ? n() - 1 : each ? n() : 1;
            List<Integer> all = ranks((1 << n()) - 1);
            for (int part = 0; part < parts; part++) {
                int sender = each ? part : call.peer();
                int theirs = relays() ? part : op.in() == Operation.Parts.EACH ? at.rank : 0;
                for (int i = 0; i < pieces; i++) {
                    List<Integer> of = op.reduces() ? all : List.of(sender);
                    expected.put(new Place(part, i), new Bytes(number, of, theirs, i));
                }
            }
            return expected;
        }
    }

    @Test
    void lanesNeverLockUpNorOverwrite() {
        List<Operation> operations = Calls.COLLECTIVES;
        for (int nRanks = 2; nRanks <= LaunchArguments.MOST_RANKS; nRanks++) {
            for (int round = 0; round < ROUNDS; round++) {
                Random random = new Random(nRanks * ROUNDS + round);
                Machine machine = new Machine(nRanks);
                for (int k = 0; k < KERNELS; k++) {
                    Operation op = operations.get(random.nextInt(operations.size()));
                    int pieces = 1 + random.nextInt(MOST_TURNS);
                    Call call = Calls.of(op, 1 << 26, random.nextInt(nRanks));
                    int number = k;
                    machine.ranks.forEach(rank -> rank.add(number, call, pieces));
                }
                machine.run(random);
            }
        }
    }
}
