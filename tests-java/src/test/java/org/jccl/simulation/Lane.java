package org.jccl.simulation;

import org.jccl.schedule.Ref;
import org.jccl.schedule.Schedule;
import org.jccl.schedule.Space;
import org.jccl.schedule.Step;
import org.jccl.simulation.SimulatedRank.Chunk;
import org.jccl.simulation.SimulatedRank.Published;
import org.jccl.simulation.SimulatedRank.Tiny;
import org.jspecify.annotations.Nullable;

import java.util.Arrays;
import java.util.List;

/** A rank's way through one call: what the executor promises before it, then its steps. */
final class Lane {
    /** Begin; hear that all have begun the last call; publish this one; hear about the ring. */
    private enum Phase {
        BEGIN,
        CREDIT,
        PUBLISH,
        RING_CREDIT,
        STEPS,
        DONE
    }

    private final Simulation simulation;
    private final SimulatedRank me;
    private final Call call;
    private final List<Step> steps;
    private final int sequenceNumbers;
    private final boolean usesRing;
    private final Buffers buffers;
    private Phase phase = Phase.BEGIN;

    /** In the rank's own time. */
    private int beganAt = Integer.MAX_VALUE;

    private int number;
    private int pc;

    /** How much of the present step or phase is done: readers served, ranks heard, cells moved. */
    private int part;

    Lane(Simulation simulation, SimulatedRank rank, Call call, Schedule schedule) {
        this.simulation = simulation;
        this.me = rank;
        this.call = call;
        this.steps = schedule.steps();
        this.sequenceNumbers = schedule.sequenceNumbers();
        this.usesRing = steps.stream().anyMatch(Lane::touchesRing);
        this.buffers = call.buffers(rank.rank);
    }

    private static boolean touchesRing(Step step) {
        return switch (step) {
            case Step.Put put -> put.dst().space() == Space.RING;
            case Step.Copy copy -> copy.src().space() == Space.RING;
            case Step.Fold fold ->
                    fold.sources().stream().anyMatch(source -> source.space() == Space.RING);
            default -> false;
        };
    }

    boolean done() {
        return phase == Phase.DONE;
    }

    /** One step or a part of one; false if it cannot move. */
    boolean advance() {
        try {
            return switch (phase) {
                case BEGIN -> begin();
                case CREDIT -> hear(number - 1, Phase.PUBLISH);
                case PUBLISH -> publish();
                case RING_CREDIT -> hear(me.lastRingCall + 1, Phase.STEPS);
                case STEPS -> step();
                case DONE -> false;
            };
        } catch (Violation | IllegalArgumentException e) {
            throw new Violation("rank " + me.rank + " in " + this + ": " + e.getMessage(), e);
        }
    }

    private boolean begin() {
        me.tick();
        beganAt = me.clock[me.rank];
        if (!call.isCollective()) {
            phase = Phase.STEPS;
            return true;
        }
        simulation.checkBase(me);
        number = ++me.collectives;
        phase = Phase.CREDIT;
        return true;
    }

    /** Everybody has published this call or a later one. */
    private boolean hear(int published, Phase next) {
        if (published <= 0 || !simulation.credits()) {
            phase = next;
            return true;
        }
        for (int q = 0; q < simulation.nRanks(); q++) {
            if (q != me.rank && me.words[q] < published) {
                return false;
            }
        }
        for (int q = 0; q < simulation.nRanks(); q++) {
            int[] clock = simulation.rank(q).publishedWords.get(published);
            if (q != me.rank && clock != null) {
                me.join(clock);
            }
        }
        phase = next;
        return true;
    }

    private boolean publish() {
        me.publishedWords.putIfAbsent(number, me.clock.clone());
        int before = part;
        for (; part < simulation.nRanks(); part++) {
            int q = part;
            if (q == me.rank) {
                continue;
            }
            if (!simulation.hasRoom(me.rank, q)) {
                return part > before;
            }
            SimulatedRank reader = simulation.rank(q);
            simulation.send(me.rank, q, () -> reader.words[me.rank] = number);
        }
        part = 0;
        phase = usesRing && me.lastRingCall > 0 ? Phase.RING_CREDIT : Phase.STEPS;
        return true;
    }

    private boolean step() {
        if (pc == (call.isCollective() ? steps.size() : 1)) {
            finish();
            return true;
        }
        int before = part;
        if (!(call.isCollective() ? run(steps.get(pc)) : transfer())) {
            return part > before;
        }
        me.tick();
        pc++;
        part = 0;
        return true;
    }

    private void finish() {
        buffers.end(me.clock);
        for (int i = 0; i < buffers.outCells(); i++) {
            long term = buffers.out(i);
            if (term != call.expected(simulation.terms(), me.rank, i)) {
                throw new Violation("result [" + i + "] is " + simulation.terms().describe(term));
            }
        }
        if (call.isCollective()) {
            me.base += sequenceNumbers;
            me.lastRingCall = usesRing ? number : me.lastRingCall;
        }
        phase = Phase.DONE;
    }

    private boolean run(Step step) {
        return switch (step) {
            case Step.Put put -> put(put);
            case Step.Signal signal -> signal(signal);
            case Step.Wait wait -> await(wait);
            case Step.Fold fold -> fold(fold);
            case Step.Copy copy -> {
                write(copy.dst(), read(copy.src(), copy.length()));
                yield true;
            }
            case Step.TinyPut put -> tinyPut(put);
            case Step.TinyFold fold -> tinyFold(fold);
            case Step.TinyCopy copy -> tinyCopy(copy);
        };
    }

    /** The one step of a transfer. */
    private boolean transfer() {
        int from = call.from();
        return me.rank == from ? send(call.shape().root()) : receive(from);
    }

    private boolean put(Step.Put put) {
        int cell = simulation.area(put.dst().space(), number & 1, put.dst().offset());
        long[] terms = read(put.src(), put.length());
        int time = me.clock[me.rank];
        for (; part < put.readers().length; part++) {
            int q = put.readers()[part];
            if (!simulation.hasRoom(me.rank, q)) {
                return false;
            }
            int known = me.clock[q];
            simulation.countUnread(call.number(), terms.length);
            simulation.send(me.rank, q, () -> store(q, cell, terms, time, known));
        }
        long[] poison = new long[terms.length];
        for (int q = 0; q < simulation.nRanks(); q++) {
            if (simulation.mates(me.rank, q) && Arrays.binarySearch(put.readers(), q) < 0) {
                store(q, cell, poison, time, me.clock[q]);
            }
        }
        return true;
    }

    private void store(int reader, int cell, long[] terms, int time, int known) {
        View view = simulation.view(me.rank, reader);
        for (int i = 0; i < terms.length; i++) {
            if (!view.write(cell + i, terms[i], call.number(), time, known)) {
                throw new Violation(
                        call
                                + ": rank "
                                + me.rank
                                + " overwrites cell "
                                + (cell + i)
                                + " without knowing that rank "
                                + reader
                                + " has read it");
            }
        }
    }

    private boolean signal(Step.Signal signal) {
        long sequence = me.base + signal.delta();
        if (part == 0) {
            me.signal(signal.flag(), sequence, signal.readers());
        }
        for (; part < signal.readers().length; part++) {
            int q = signal.readers()[part];
            if (!simulation.hasRoom(me.rank, q)) {
                return false;
            }
            long[] flags = simulation.rank(q).flags[me.rank];
            simulation.send(me.rank, q, () -> flags[signal.flag()] = sequence);
        }
        return true;
    }

    private boolean await(Step.Wait wait) {
        long sequence = me.base + wait.delta();
        if (me.flags[wait.rank()][wait.flag()] < sequence) {
            return false;
        }
        Published published = simulation.rank(wait.rank()).signalled(wait.flag(), sequence);
        if (published == null || !published.unheard().remove(me.rank)) {
            throw new Violation("no signal of its own, or waited for twice");
        }
        me.join(published.clock());
        return true;
    }

    private boolean fold(Step.Fold fold) {
        int n = fold.sources().size();
        long[][] sources = new long[n][];
        for (int r = 0; r < n; r++) {
            sources[r] = read(fold.sources().get(r), fold.length());
        }
        write(fold.dst(), folded(sources, fold.last()));
        return true;
    }

    private long[] folded(long[][] sources, boolean last) {
        long[] column = new long[sources.length];
        long[] result = new long[sources[0].length];
        for (int i = 0; i < result.length; i++) {
            for (int r = 0; r < sources.length; r++) {
                column[r] = sources[r][i];
            }
            result[i] = simulation.terms().fold(column, last);
        }
        return result;
    }

    private boolean tinyPut(Step.TinyPut put) {
        int parity = number & 1;
        long[] terms = read(put.src(), put.length());
        Tiny message = new Tiny(number, terms, me.clock.clone());
        me.tiny[me.rank][parity] = message;
        for (; part < put.readers().length; part++) {
            int q = put.readers()[part];
            if (!simulation.hasRoom(me.rank, q)) {
                return false;
            }
            SimulatedRank reader = simulation.rank(q);
            int known = me.clock[q];
            simulation.countUnread(call.number(), 1);
            simulation.send(
                    me.rank,
                    q,
                    () -> {
                        if (reader.tinyReadAt[me.rank][parity] > known) {
                            throw new Violation(call + " overwrites lines that are being read");
                        }
                        reader.tiny[me.rank][parity] = message;
                    });
        }
        return true;
    }

    /** The message of a rank in this call, or null if it has not arrived. */
    private @Nullable Tiny tiny(int q, long length) {
        Tiny message = me.tiny[q][number & 1];
        if (message == null || message.call() < number) {
            return null;
        }
        if (message.call() > number || message.terms().length != simulation.cells(length)) {
            throw new Violation("finds another message of rank " + q);
        }
        return message;
    }

    private void take(int q, Tiny message) {
        if (q != me.rank) {
            me.join(message.clock());
            me.tinyReadAt[q][number & 1] = me.clock[me.rank];
            simulation.countUnread(call.number(), -1);
        }
    }

    private boolean tinyFold(Step.TinyFold fold) {
        int n = simulation.nRanks();
        for (int q = 0; q < n; q++) {
            if (q != me.rank && tiny(q, fold.length()) == null) {
                return false;
            }
        }
        long[][] sources = new long[n][];
        sources[me.rank] = read(fold.src(), fold.length());
        for (int q = 0; q < n; q++) {
            Tiny message = q == me.rank ? null : tiny(q, fold.length());
            if (message != null) {
                take(q, message);
                sources[q] = message.terms();
            }
        }
        write(fold.dst(), folded(sources, true));
        return true;
    }

    private boolean tinyCopy(Step.TinyCopy copy) {
        Tiny message = tiny(copy.rank(), copy.message());
        if (message == null) {
            return false;
        }
        take(copy.rank(), message);
        int from = simulation.cells(copy.from());
        int to = from + simulation.cells(copy.length());
        write(copy.dst(), Arrays.copyOfRange(message.terms(), from, to));
        return true;
    }

    private boolean send(int peer) {
        var fifo = simulation.rank(peer).fifos.get(me.rank);
        int all = simulation.cells(call.shape().bytes());
        do {
            if (fifo.size() == Simulation.FIFO_CHUNKS) {
                return false;
            }
            int cells = Math.min(Simulation.FIFO_CHUNK_CELLS, all - part);
            Ref from = new Ref(Space.IN, me.rank, (long) part * simulation.elementBytes());
            long[] terms = read(from, (long) cells * simulation.elementBytes());
            fifo.add(new Chunk(all, terms, me.clock.clone()));
            part += cells;
        } while (part < all);
        return true;
    }

    private boolean receive(int peer) {
        var fifo = me.fifos.get(peer);
        int all = simulation.cells(call.shape().bytes());
        do {
            Chunk chunk = fifo.poll();
            if (chunk == null) {
                return false;
            }
            if (chunk.messageCells() != all) {
                throw new Violation("the message has " + chunk.messageCells() + " elements");
            }
            me.join(chunk.clock());
            Ref to = new Ref(Space.OUT, me.rank, (long) part * simulation.elementBytes());
            write(to, chunk.terms());
            part += chunk.terms().length;
        } while (part < all);
        return true;
    }

    private long[] read(Ref ref, long length) {
        long[] terms = new long[simulation.cells(length)];
        boolean pulls = ref.rank() != me.rank && !ref.space().isArea();
        Buffers theirs = pulls ? buffersOf(ref.rank()) : buffers;
        int cell =
                ref.space().isArea()
                        ? simulation.area(ref.space(), number & 1, ref.offset())
                        : simulation.cells(ref.offset());
        for (int i = 0; i < terms.length; i++) {
            terms[i] =
                    switch (ref.space()) {
                        case IN ->
                                pulls
                                        ? theirs.in(cell + i, me.rank, me.clock)
                                        : theirs.in(cell + i);
                        case OUT ->
                                pulls
                                        ? theirs.out(cell + i, me.rank, me.clock)
                                        : theirs.out(cell + i);
                        case SMALL, DIRECT, RING -> readArea(ref.rank(), cell + i);
                    };
            if (terms[i] == Terms.POISON) {
                throw new Violation(
                        ref + " element " + i + " is " + simulation.terms().describe(0));
            }
        }
        return terms;
    }

    /** The buffers of another rank's caller; this rank must know that the other is in the call. */
    private Buffers buffersOf(int owner) {
        for (Lane lane : simulation.rank(owner).lanes) {
            if (lane.call.number() == call.number()
                    && lane.beganAt <= me.clock[owner]
                    && !lane.done()
                    && simulation.mates(owner, me.rank)) {
                return lane.buffers;
            }
        }
        throw new Violation("reads a buffer of rank " + owner + ", which it cannot, or not now");
    }

    private long readArea(int owner, int cell) {
        View view = simulation.view(owner, me.rank);
        if (view.writtenAt(cell) > me.clock[owner]) {
            throw new Violation("reads cell " + cell + " of rank " + owner + " before being told");
        }
        if (view.call(cell) != call.number()) {
            throw new Violation(
                    "reads cell " + cell + " of rank " + owner + " of call " + view.call(cell));
        }
        if (owner != me.rank && !view.wasRead(cell)) {
            simulation.countUnread(call.number(), -1);
        }
        return view.read(cell, me.clock[me.rank]);
    }

    private void write(Ref ref, long[] terms) {
        if (ref.space() == Space.OUT) {
            int cell = simulation.cells(ref.offset());
            for (int i = 0; i < terms.length; i++) {
                buffers.write(cell + i, terms[i], me.clock);
            }
            return;
        }
        int cell = simulation.area(ref.space(), number & 1, ref.offset());
        long[] poison = new long[terms.length];
        for (int q = 0; q < simulation.nRanks(); q++) {
            if (simulation.mates(me.rank, q)) {
                store(q, cell, q == me.rank ? terms : poison, me.clock[me.rank], me.clock[q]);
            }
        }
    }

    @Override
    public String toString() {
        String at = phase == Phase.STEPS && pc < steps.size() ? "step " + pc + " " : "" + phase;
        return call + ", " + at + (phase == Phase.STEPS && pc < steps.size() ? steps.get(pc) : "");
    }
}
