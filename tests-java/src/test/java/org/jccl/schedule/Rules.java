package org.jccl.schedule;

import org.jccl.schedule.Step.Copy;
import org.jccl.schedule.Step.Fold;
import org.jccl.schedule.Step.Header;
import org.jccl.schedule.Step.Loop;
import org.jccl.schedule.Step.Match;
import org.jccl.schedule.Step.Put;
import org.jccl.schedule.Step.Signal;
import org.jccl.schedule.Step.TinyCopy;
import org.jccl.schedule.Step.TinyFold;
import org.jccl.schedule.Step.TinyPut;
import org.jccl.schedule.Step.Wait;

import java.util.HashMap;
import java.util.Map;

/** What {@link Step} and {@link Schedule} demand of every schedule, whatever the call. */
final class Rules {
    private final int rank;
    private final int nRanks;
    private final int sequenceNumbers;
    private final Map<Integer, Integer> signalled = new HashMap<>();

    private Rules(Schedule schedule) {
        rank = schedule.rank();
        nRanks = schedule.nRanks();
        sequenceNumbers = schedule.sequenceNumbers();
    }

    /**
     * Checks a schedule.
     *
     * @throws IllegalArgumentException naming the step that breaks a rule
     */
    static void require(Schedule schedule) {
        Rules rules = new Rules(schedule);
        if (!rules.isRank(rules.rank) || rules.sequenceNumbers < 0) {
            throw new IllegalArgumentException(schedule.toString());
        }
        for (Step step : schedule.steps()) {
            if (!rules.allow(step)) {
                throw new IllegalArgumentException(
                        step
                                + " cannot be of rank "
                                + rules.rank
                                + " of "
                                + rules.nRanks
                                + " with "
                                + rules.sequenceNumbers
                                + " sequence numbers");
            }
        }
    }

    private boolean allow(Step step) {
        return switch (step) {
            case Put put ->
                    put.length() > 0
                            && own(put.src())
                            && own(put.dst())
                            && put.dst().space().isArea()
                            && others(put.readers());
            case Signal signal ->
                    others(signal.readers())
                            && isFlag(signal.flag(), signal.delta())
                            && grows(signal);
            case Wait wait -> isPeer(wait.rank()) && isFlag(wait.flag(), wait.delta());
            case Fold fold -> fold.length() > 0 && writable(fold.dst()) && foldable(fold);
            case Copy copy ->
                    copy.length() > 0 && writable(copy.dst()) && isRank(copy.src().rank());
            case TinyPut put -> put.length() > 0 && own(put.src()) && others(put.readers());
            case TinyFold fold -> fold.length() > 0 && writable(fold.dst()) && own(fold.src());
            case TinyCopy copy ->
                    copy.length() > 0
                            && writable(copy.dst())
                            && isRank(copy.rank())
                            && copy.from() >= 0
                            && copy.from() <= copy.message() - copy.length();
            case Loop loop -> loop.chunkBytes() > 0 && loop.body().stream().allMatch(this::inLoop);
            case Header header -> own(header.dst()) && header.dst().space().isArea();
            case Match match -> match.src().space().isArea();
        };
    }

    /** A wait may look back to an earlier round. */
    private boolean inLoop(Step step) {
        return step instanceof Wait wait && wait.delta() < 1
                ? isPeer(wait.rank()) && wait.flag() >= 0
                : !(step instanceof Loop) && allow(step);
    }

    private boolean foldable(Fold fold) {
        for (Ref source : fold.sources()) {
            if (!isRank(source.rank()) || !(own(source) || source.space().isArea())) {
                return false;
            }
        }
        return fold.sources().size() >= 2 && fold.sources().size() <= nRanks;
    }

    private boolean isFlag(int flag, int delta) {
        return flag >= 0 && delta >= 1 && delta <= sequenceNumbers;
    }

    private boolean grows(Signal signal) {
        Integer before = signalled.put(signal.flag(), signal.delta());
        return before == null || signal.delta() > before;
    }

    private boolean own(Ref ref) {
        return ref.rank() == rank;
    }

    private boolean writable(Ref ref) {
        return own(ref) && ref.space() != Space.IN;
    }

    private boolean isRank(int r) {
        return r >= 0 && r < nRanks;
    }

    private boolean isPeer(int r) {
        return isRank(r) && r != rank;
    }

    /** Whether these are other ranks, at least one, ascending. */
    private boolean others(int[] ranks) {
        int before = -1;
        for (int r : ranks) {
            if (!isPeer(r) || r <= before) {
                return false;
            }
            before = r;
        }
        return ranks.length > 0;
    }
}
