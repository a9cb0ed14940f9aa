package org.jccl.simulation;

import org.jccl.collective.Algorithm;
import org.jccl.schedule.Bounds;
import org.jccl.schedule.Limits;
import org.jccl.schedule.Schedule;
import org.jccl.schedule.Shape;
import org.jccl.schedule.Space;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * A communicator whose ranks run schedules, all in one thread.
 *
 * <pre>{@code
 * Simulation simulation = new Simulation(3, limits, 4, Wiring.wires(2));
 * simulation.call(algorithm, shape);
 * simulation.run(Interleaving.random(17));
 * }</pre>
 *
 * <p>Throws {@link Violation} when a rank reads what was not put for it in this call, or what it
 * has not been told about, or overwrites what a reader may still read; when nobody can move; when a
 * result is not exact; when sequence numbers differ; and when something was sent or signalled that
 * nobody read or waited for.
 */
final class Simulation {
    private final int nRanks;
    private final Limits limits;
    private final int elementBytes;
    private final Wiring wiring;
    private final Terms terms;
    private final List<SimulatedRank> ranks = new ArrayList<>();
    private final @Nullable Wire[][] wires;
    private final List<Wire> busy = new ArrayList<>();
    private final List<List<Call>> stages = new ArrayList<>();

    /** By call number: cells that were put for a reader and have not been read. */
    private final List<Long> unread = new ArrayList<>(List.of(0L));

    private final List<@Nullable Long> bases = new ArrayList<>();
    private int calls;
    private boolean credits = true;

    /** A communicator whose calls all have elements of {@code elementBytes}. */
    Simulation(int nRanks, Limits limits, int elementBytes, Wiring wiring) {
        this.nRanks = nRanks;
        this.limits = limits;
        this.elementBytes = elementBytes;
        this.wiring = wiring;
        terms = new Terms(nRanks);
        wires = new Wire[nRanks][nRanks];
        for (int r = 0; r < nRanks; r++) {
            ranks.add(new SimulatedRank(r, nRanks));
            for (int q = 0; q < nRanks; q++) {
                if (wiring.wired(r, q)) {
                    wires[r][q] = new Wire(wiring.framesInFlight());
                }
            }
        }
    }

    int nRanks() {
        return nRanks;
    }

    Limits limits() {
        return limits;
    }

    int elementBytes() {
        return elementBytes;
    }

    Terms terms() {
        return terms;
    }

    SimulatedRank rank(int r) {
        return ranks.get(r);
    }

    /** Lets ranks begin calls without the executor's promises about the calls before. */
    Simulation withoutCredits() {
        credits = false;
        return this;
    }

    boolean credits() {
        return credits;
    }

    /** Adds a call of all ranks. */
    void call(Algorithm algorithm, Shape shape) {
        call(Call.collective(++calls, algorithm, shape));
    }

    /** Adds a call of all ranks with schedules of one's own. */
    void call(String name, Shape shape, List<Schedule> schedules) {
        call(new Call(++calls, name, shape, -1, 0, List.copyOf(schedules)));
    }

    private void call(Call call) {
        if (call.shape().elementBytes() != elementBytes) {
            throw new IllegalArgumentException(call + " in cells of " + elementBytes);
        }
        stage(List.of(call));
    }

    /** Adds transfers that run at the same time, as in a group. */
    void transfers(Transfer... transfers) {
        List<Call> group = new ArrayList<>();
        for (Transfer transfer : transfers) {
            group.add(transfer.call(++calls, nRanks, elementBytes, limits));
        }
        stage(group);
    }

    /** Adds two transfers of which each rank begins the second when it is through with its send. */
    void crossed(Transfer one, Transfer other) {
        Call a = one.call(++calls, nRanks, elementBytes, limits);
        Call b = other.call(++calls, nRanks, elementBytes, limits);
        stage(List.of(a.only(one.from()), b.only(other.from())));
        stage(List.of(a.only(one.to()), b.only(other.to())));
    }

    /** Adds two transfers that their receiver expects in the other order. */
    void swapped(Transfer one, Transfer other) {
        Call a = one.call(++calls, nRanks, elementBytes, limits);
        Call b = other.call(++calls, nRanks, elementBytes, limits);
        stage(List.of(a.only(one.from()), b.only(one.from()), b.only(one.to()), a.only(one.to())));
    }

    /** Adds a transfer with schedules of one's own. */
    void transfer(Transfer transfer, Schedule send, Schedule receive) {
        Shape shape = transfer.shape(nRanks, elementBytes, limits);
        stage(List.of(transfer.call(++calls, shape, send, receive)));
    }

    private void stage(List<Call> stage) {
        stages.add(stage);
        while (unread.size() <= calls) {
            unread.add(0L);
        }
        bases.add(null);
    }

    /** Runs all calls that have been added to their ends. */
    void run(Interleaving interleaving) {
        try {
            boolean moving = true;
            while (moving) {
                moving = interleaving.turn(this);
            }
            checkEnd();
        } catch (Violation e) {
            throw new Violation(
                    nRanks + " ranks, " + wiring + ", " + interleaving + ": " + e.getMessage(), e);
        }
    }

    /** One step of a rank; false if it cannot move. */
    boolean advance(int r) {
        SimulatedRank rank = ranks.get(r);
        if (rank.advance()) {
            return true;
        }
        if (!rank.betweenStages() || rank.stage == stages.size()) {
            return false;
        }
        rank.lanes.clear();
        for (Call call : stages.get(rank.stage)) {
            Schedule schedule = call.schedules().get(r);
            if (schedule != null) {
                rank.lanes.add(
                        call.isCollective()
                                ? new CollectiveLane(this, rank, call, schedule)
                                : new TransferLane(this, rank, call, schedule));
            }
        }
        rank.stage++;
        return true;
    }

    /** Number of wires with something to deliver. */
    int busyWires() {
        return busy.size();
    }

    /** Delivers one frame of busy wire {@code i}. */
    void deliver(int i) {
        Wire wire = busy.get(i);
        wire.deliver();
        if (wire.isEmpty()) {
            busy.set(i, busy.getLast());
            busy.removeLast();
        }
    }

    /** Whether the two share memory (also a rank with itself). */
    boolean mates(int a, int b) {
        return wires[a][b] == null;
    }

    /** Whether a frame can be sent, or the two are mates. */
    boolean hasRoom(int from, int to) {
        Wire wire = wires[from][to];
        return wire == null || wire.hasRoom();
    }

    /** Lets {@code arrival} happen at {@code to}: at once for a mate, else when it arrives. */
    void send(int from, int to, Runnable arrival) {
        Wire wire = wires[from][to];
        if (wire == null) {
            arrival.run();
            return;
        }
        if (wire.isEmpty()) {
            busy.add(wire);
        }
        wire.send(arrival);
    }

    /** {@code reader}'s view of {@code owner}'s areas. */
    View view(int owner, int reader) {
        @Nullable View[] views = ranks.get(reader).views;
        View view = views[owner];
        if (view == null) {
            view = new View(Math.toIntExact(area(Space.RING, 0, Bounds.ringBytes(limits))));
            views[owner] = view;
        }
        return view;
    }

    /** What {@code reader} sees of the slots for what {@code owner} sends to {@code receiver}. */
    View slots(int owner, int reader, int receiver) {
        int slotBytes = Limits.HEADER_BYTES + limits.chunkBytes();
        return ranks.get(reader)
                .slots
                .computeIfAbsent(
                        List.of(owner, receiver),
                        pair -> new View(cells((long) limits.chunkSlots() * slotBytes)));
    }

    /** Cell of a place in an area: small and direct slots of both parities, then the ring. */
    int area(Space space, int parity, long offset) {
        long start =
                switch (space) {
                    case SMALL -> (long) parity * limits.smallBytes();
                    case DIRECT -> 2L * limits.smallBytes() + (long) parity * limits.directBytes();
                    case RING -> 2L * limits.smallBytes() + 2L * limits.directBytes();
                    case IN, OUT, FIFO -> throw new IllegalArgumentException(space + " in a call");
                };
        return cells(start + offset);
    }

    /** Bytes as elements. */
    int cells(long bytes) {
        if (bytes % elementBytes != 0) {
            throw new Violation(bytes + " bytes in elements of " + elementBytes);
        }
        return Math.toIntExact(bytes / elementBytes);
    }

    void countUnread(int call, int change) {
        unread.set(call, unread.get(call) + change);
    }

    /** All ranks must begin a call with the same sequence base. */
    void checkBase(SimulatedRank rank) {
        int stage = rank.stage - 1;
        Long known = bases.get(stage);
        if (known == null) {
            bases.set(stage, rank.base);
        } else if (known != rank.base) {
            throw new Violation(
                    "rank "
                            + rank.rank
                            + " begins with sequence base "
                            + rank.base
                            + ", another with "
                            + known);
        }
    }

    private void checkEnd() {
        for (SimulatedRank rank : ranks) {
            if (!rank.betweenStages() || rank.stage < stages.size()) {
                throw new Violation("nobody can move: " + whereabouts());
            }
            if (rank.base != ranks.getFirst().base) {
                throw new Violation(
                        "rank "
                                + rank.rank
                                + " ends with sequence base "
                                + rank.base
                                + ", rank 0 with "
                                + ranks.getFirst().base);
            }
            List<String> inVain = rank.inVain(limits);
            if (!inVain.isEmpty()) {
                throw new Violation("rank " + rank.rank + " signalled in vain " + inVain);
            }
        }
        for (int call = 1; call <= calls; call++) {
            if (unread.get(call) != 0) {
                throw new Violation(
                        unread.get(call) + " elements of call " + call + " put in vain");
            }
        }
    }

    private String whereabouts() {
        StringBuilder text = new StringBuilder();
        for (SimulatedRank rank : ranks) {
            for (Lane lane : rank.lanes) {
                if (!lane.done()) {
                    text.append("\n  rank ").append(rank.rank).append(" at ").append(lane);
                }
            }
        }
        return Objects.toString(text);
    }
}
