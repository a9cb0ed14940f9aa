package org.jccl.simulation;

import org.jccl.schedule.Ref;
import org.jccl.schedule.Schedule;
import org.jccl.schedule.Space;
import org.jccl.schedule.Step;
import org.jccl.transport.RegionLayout;

import java.util.BitSet;
import java.util.stream.IntStream;

/** A call of all ranks: the executor promises something about the calls before its steps begin. */
final class CollectiveLane extends Lane {
    /** Begin; hear that all have begun the last call; publish this one; hear about the ring. */
    private enum Phase {
        BEGIN,
        CREDIT,
        PUBLISH,
        RING_CREDIT,
        STEPS
    }

    private final Schedule schedule;
    private final boolean usesRing;
    private Phase phase = Phase.BEGIN;
    private int number;

    CollectiveLane(Simulation simulation, SimulatedRank rank, Call call, Schedule schedule) {
        super(simulation, rank, call, schedule);
        this.schedule = schedule;
        this.usesRing = schedule.steps().stream().anyMatch(CollectiveLane::touchesRing);
    }

    private BitSet partners() {
        BitSet partners = new BitSet();
        for (Step step : schedule.steps()) {
            switch (step) {
                case Step.Put put -> IntStream.of(put.readers()).forEach(partners::set);
                case Step.Signal signal -> IntStream.of(signal.readers()).forEach(partners::set);
                case Step.TinyPut put -> IntStream.of(put.readers()).forEach(partners::set);
                case Step.Wait wait -> partners.set(wait.rank());
                case Step.TinyCopy copy -> partners.set(copy.rank());
                case Step.TinyFold fold -> partners.set(0, simulation.nRanks());
                default -> {}
            }
        }
        return partners;
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

    @Override
    boolean ready() {
        return phase == Phase.STEPS;
    }

    @Override
    boolean prepare() {
        return switch (phase) {
            case BEGIN -> {
                begin();
                simulation.checkBase(me);
                number = ++me.collectives;
                me.partners.put(number, partners());
                phase = Phase.CREDIT;
                yield true;
            }
            case CREDIT -> hear(number - 1, Phase.PUBLISH);
            case PUBLISH -> publish();
            case RING_CREDIT -> hear(me.lastRingCall + 1, Phase.STEPS);
            case STEPS -> false;
        };
    }

    /** The ranks that tell this one of a call, since the call before it concerned both. */
    private BitSet tellers(int call) {
        BitSet tellers = new BitSet();
        tellers.or(me.partners.getOrDefault(call - 1, tellers));
        for (int q = 0; q < simulation.nRanks(); q++) {
            if (shares(q)) {
                tellers.set(q);
            }
        }
        tellers.clear(me.rank);
        return tellers;
    }

    /** All that the call before this one concerned have published this call or a later one. */
    private boolean hear(int published, Phase next) {
        if (published <= 0 || !simulation.credits()) {
            phase = next;
            return true;
        }
        BitSet tellers = tellers(published);
        if (tellers.stream().anyMatch(q -> me.words[q][line(published)] < published)) {
            return false;
        }
        for (int q : tellers.stream().toArray()) {
            int[] clock = simulation.rank(q).publishedWords.get(published);
            if (clock != null) {
                me.join(clock);
            }
        }
        phase = next;
        return true;
    }

    private static int line(int call) {
        return call & (RegionLayout.WORD_LINES - 1);
    }

    private boolean publish() {
        me.publishedWords.putIfAbsent(number, me.clock.clone());
        int before = part;
        BitSet told = tellers(number);
        told.or(tellers(number + 1));
        for (; part < simulation.nRanks(); part++) {
            int q = part;
            if (!told.get(q)) {
                continue;
            }
            if (!simulation.hasRoom(me.rank, q)) {
                return part > before;
            }
            SimulatedRank reader = simulation.rank(q);
            simulation.send(me.rank, q, () -> reader.words[me.rank][line(number)] = number);
        }
        part = 0;
        phase = usesRing && me.lastRingCall > 0 ? Phase.RING_CREDIT : Phase.STEPS;
        return true;
    }

    @Override
    void end() {
        me.base += schedule.sequenceNumbers();
        me.lastRingCall = usesRing ? number : me.lastRingCall;
    }

    @Override
    int rank(int ofSchedule) {
        return ofSchedule;
    }

    @Override
    int[] ranks(int[] ofSchedule) {
        return ofSchedule;
    }

    @Override
    long base() {
        return me.base;
    }

    @Override
    int flag(int ofSchedule, int reader) {
        return ofSchedule;
    }

    @Override
    View view(int owner, int reader) {
        return simulation.view(owner, reader);
    }

    @Override
    boolean shares(int q) {
        return simulation.mates(me.rank, q);
    }

    @Override
    int cell(Ref ref) {
        return simulation.area(ref.space(), number & 1, ref.offset());
    }
}
