package org.jccl.simulation;

import org.jccl.schedule.Limits;
import org.jccl.schedule.Ref;
import org.jccl.schedule.Schedule;
import org.jccl.schedule.Space;
import org.jccl.schedule.Step;
import org.jccl.simulation.SimulatedRank.Published;
import org.jccl.simulation.SimulatedRank.Tiny;
import org.jspecify.annotations.Nullable;

import java.util.Arrays;
import java.util.List;

/** A rank's way through one call: what comes before its steps, then these. */
abstract class Lane {
    final Simulation simulation;
    final SimulatedRank me;
    final Call call;
    private final List<Step> steps;
    private final Buffers buffers;
    private boolean done;

    /** In the rank's own time. */
    private int beganAt = Integer.MAX_VALUE;

    private int pc;

    /** In a loop: the next step of its body, the rounds that are over, and what these moved. */
    private int inner;

    private long rounds;
    private long moved;

    /** In a loop: what the chunk of this round lacks of a whole one. */
    private long lacking;

    /** How much of the present step or phase is done: readers served, ranks heard. */
    int part;

    Lane(Simulation simulation, SimulatedRank rank, Call call, Schedule schedule) {
        this.simulation = simulation;
        this.me = rank;
        this.call = call;
        this.steps = schedule.steps();
        this.buffers = call.buffers(rank.rank);
    }

    /** Whether the steps may begin. */
    abstract boolean ready();

    /** Does something that comes before the steps; false if nothing can be done now. */
    abstract boolean prepare();

    /** The steps are over. */
    abstract void end();

    /** The rank of the communicator that a rank of the schedule is. */
    abstract int rank(int ofSchedule);

    /** The same for the readers of a step. */
    abstract int[] ranks(int[] ofSchedule);

    /** What the deltas of flags are counted from, outside of loops. */
    abstract long base();

    /** The number of a flag among those that its reader knows of a rank. */
    abstract int flag(int ofSchedule, int reader);

    /** What another rank, or this one, sees of a rank's areas that the steps use. */
    abstract View view(int owner, int reader);

    /** Whether a rank sees this rank's areas themselves. */
    abstract boolean shares(int q);

    /** The cell of a place in an area. */
    abstract int cell(Ref ref);

    /** No frame can still have to be sent from a cell of an area that is to be overwritten. */
    void requireSent(int cell) {}

    final boolean done() {
        return done;
    }

    /** One step or a part of one; false if it cannot move. */
    final boolean advance() {
        try {
            return ready() ? step() : prepare();
        } catch (Violation | IllegalArgumentException e) {
            throw new Violation("rank " + me.rank + " in " + this + ": " + e.getMessage(), e);
        }
    }

    final void begin() {
        me.tick();
        beganAt = me.clock[me.rank];
    }

    /** What the deltas of flags are counted from now. */
    final long sequence() {
        return base() + rounds;
    }

    private boolean step() {
        if (pc == steps.size()) {
            finish();
            return true;
        }
        int before = part;
        if (steps.get(pc) instanceof Step.Loop loop) {
            lacking = Math.max(0, loop.chunkBytes() - (call.shape().bytes() - moved));
        }
        if (!run(present())) {
            return part > before;
        }
        me.tick();
        part = 0;
        if (!(steps.get(pc) instanceof Step.Loop loop) || isLastOf(loop)) {
            pc++;
        }
        return true;
    }

    private Step present() {
        Step step = steps.get(pc);
        return step instanceof Step.Loop loop ? loop.body().get(inner) : step;
    }

    /** Goes on in a loop after a step; whether that was the last one of the last round. */
    private boolean isLastOf(Step.Loop loop) {
        inner++;
        if (inner < loop.body().size()) {
            return false;
        }
        inner = 0;
        rounds++;
        moved += loop.chunkBytes() - lacking;
        lacking = 0;
        boolean last = moved >= call.shape().bytes();
        moved = last ? 0 : moved;
        return last;
    }

    private void finish() {
        buffers.end(me.clock);
        for (int i = 0; i < buffers.outCells(); i++) {
            long term = buffers.out(i);
            if (term != call.expected(simulation.terms(), me.rank, i)) {
                throw new Violation("result [" + i + "] is " + simulation.terms().describe(term));
            }
        }
        end();
        done = true;
    }

    private boolean run(Step step) {
        return switch (step) {
            case Step.Put put -> put(put);
            case Step.Signal signal -> signal(signal);
            case Step.Wait wait -> await(wait);
            case Step.Fold fold -> fold(fold);
            case Step.Copy copy -> {
                write(copy.dst(), read(copy.src(), copy.length() - lacking));
                yield true;
            }
            case Step.TinyPut put -> tinyPut(put);
            case Step.TinyFold fold -> tinyFold(fold);
            case Step.TinyCopy copy -> tinyCopy(copy);
            case Step.Header header -> {
                write(header.dst(), header());
                yield true;
            }
            case Step.Match match -> match(match);
            case Step.Loop loop -> throw new Violation("a loop in a loop");
        };
    }

    private long[] header() {
        long[] header = new long[simulation.cells(Limits.HEADER_BYTES)];
        Arrays.fill(header, call.header());
        return header;
    }

    /** Reads the header of every chunk, since nothing may be put in vain; looks at the first. */
    private boolean match(Step.Match match) {
        long found = view(rank(match.src().rank()), me.rank).seen(cell(match.src()));
        if (moved == 0 && found != call.header() && found != Terms.POISON) {
            throw new Violation("the next message is " + simulation.terms().describe(found));
        }
        read(match.src(), Limits.HEADER_BYTES);
        return true;
    }

    private boolean put(Step.Put put) {
        int[] readers = ranks(put.readers());
        if (readers.length > part && !simulation.hasRoom(me.rank, readers[part])) {
            return false;
        }
        int cell = cell(put.dst());
        long[] terms = read(put.src(), put.length() - lacking);
        int time = me.clock[me.rank];
        for (; part < readers.length; part++) {
            int q = readers[part];
            if (!simulation.hasRoom(me.rank, q)) {
                return false;
            }
            int known = me.clock[q];
            simulation.countUnread(call.number(), terms.length);
            simulation.send(me.rank, q, () -> store(q, cell, terms, time, known));
        }
        long[] poison = new long[terms.length];
        for (int q = 0; q < simulation.nRanks(); q++) {
            if (shares(q) && Arrays.binarySearch(readers, q) < 0) {
                store(q, cell, poison, time, me.clock[q]);
            }
        }
        return true;
    }

    private void store(int reader, int cell, long[] terms, int time, int known) {
        int unknown = view(me.rank, reader).write(cell, terms, call.number(), time, known);
        if (unknown >= 0) {
            throw new Violation(
                    call
                            + ": rank "
                            + me.rank
                            + " overwrites cell "
                            + unknown
                            + " without knowing that rank "
                            + reader
                            + " has read it");
        }
    }

    private boolean signal(Step.Signal signal) {
        long sequence = sequence() + signal.delta();
        int[] readers = ranks(signal.readers());
        int flag = flag(signal.flag(), readers[0]);
        if (part == 0) {
            me.signal(flag, sequence, readers);
        }
        for (; part < readers.length; part++) {
            int q = readers[part];
            if (!simulation.hasRoom(me.rank, q)) {
                return false;
            }
            long[] flags = simulation.rank(q).flags[me.rank];
            simulation.send(me.rank, q, () -> flags[flag] = sequence);
        }
        return true;
    }

    private boolean await(Step.Wait wait) {
        long sequence = sequence() + wait.delta();
        int q = rank(wait.rank());
        int flag = flag(wait.flag(), me.rank);
        if (me.flags[q][flag] < sequence) {
            return false;
        }
        if (sequence <= 0) {
            return true;
        }
        Published published = simulation.rank(q).signalled(flag, sequence);
        if (published == null || !published.unheard().get(me.rank)) {
            throw new Violation("no signal of its own, or waited for twice");
        }
        published.unheard().clear(me.rank);
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
        int number = me.collectives;
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
        int number = me.collectives;
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
            me.tinyReadAt[q][message.call() & 1] = me.clock[me.rank];
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

    private long[] read(Ref ref, long length) {
        int n = simulation.cells(length);
        int owner = rank(ref.rank());
        long[] terms;
        if (ref.space().isArea()) {
            terms = readArea(owner, cell(ref), n);
        } else {
            int cell = simulation.cells(ref.offset() + moved);
            if (owner == me.rank) {
                terms = ref.space() == Space.IN ? buffers.in(cell, n) : buffers.out(cell, n);
            } else if (ref.space() == Space.OUT) {
                throw new Violation("reads the output of rank " + owner + "'s caller");
            } else {
                terms = buffersOf(owner).in(cell, n, me.rank, me.clock);
            }
        }
        for (int i = 0; i < n; i++) {
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

    private long[] readArea(int owner, int from, int n) {
        View view = view(owner, me.rank);
        long[] terms = new long[n];
        int first = 0;
        for (int i = 0; i < n; i++) {
            int cell = from + i;
            if (view.writtenAt(cell) > me.clock[owner]) {
                throw new Violation(
                        "reads cell " + cell + " of rank " + owner + " before being told");
            }
            if (view.call(cell) != call.number()) {
                throw new Violation(
                        "reads cell " + cell + " of rank " + owner + " of call " + view.call(cell));
            }
            first += view.wasRead(cell) ? 0 : 1;
            terms[i] = view.read(cell, me.clock[me.rank]);
        }
        if (owner != me.rank) {
            simulation.countUnread(call.number(), -first);
        }
        return terms;
    }

    private void write(Ref ref, long[] terms) {
        if (ref.space() == Space.OUT) {
            buffers.write(simulation.cells(ref.offset() + moved), terms, me.clock);
            return;
        }
        int cell = cell(ref);
        for (int i = 0; i < terms.length; i++) {
            requireSent(cell + i);
        }
        long[] poison = new long[terms.length];
        for (int q = 0; q < simulation.nRanks(); q++) {
            if (shares(q)) {
                store(q, cell, q == me.rank ? terms : poison, me.clock[me.rank], me.clock[q]);
            }
        }
    }

    @Override
    public String toString() {
        return !ready() || pc == steps.size()
                ? call.toString()
                : call + ", step " + (pc + inner) + " of round " + rounds + " " + present();
    }
}
