package org.jccl.machine;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.machine.Plan.Fault;
import org.jspecify.annotations.Nullable;

import java.util.EnumMap;
import java.util.Map;

/**
 * What the faults of many schedules met: a fault whose time comes after the end of its rank meets
 * nothing, and schedules without faults show nothing.
 */
final class Strikes {
    /** Where in its life a rank was. */
    private enum Place {
        INIT,
        OPERATION,
        SPLIT,
        CHILD_END,
        FINALIZE,
        END
    }

    /** What a thousand schedules must have: a third of what they do. */
    private static final Map<Fault, Integer> LEAST_FAULTS =
            Map.of(
                    Fault.SLEEP, 40,
                    Fault.STOP, 30,
                    Fault.CLOSE, 40,
                    Fault.ABORT, 40,
                    Fault.ABORT_ELSEWHERE, 20,
                    Fault.ABSENT, 40,
                    Fault.KILL, 30);

    private static final Map<Place, Integer> LEAST_TIMED =
            Map.of(Place.INIT, 30, Place.OPERATION, 20, Place.SPLIT, 10);

    private static final Map<Place, Integer> LEAST_SCRIPTED =
            Map.of(
                    Place.INIT, 50,
                    Place.OPERATION, 60,
                    Place.SPLIT, 16,
                    Place.CHILD_END, 34,
                    Place.FINALIZE, 5);

    private static final int LEAST_FAILED_RANKS = 400;

    private final Map<Fault, Integer> faults = new EnumMap<>(Fault.class);
    private final Map<Place, Integer> timed = new EnumMap<>(Place.class);
    private final Map<Place, Integer> scripted = new EnumMap<>(Place.class);
    private int failedRanks;

    void add(Schedule schedule) {
        Plan plan = schedule.plan();
        Journal journal = schedule.journal();
        failedRanks += (int) journal.entries().stream().filter(Journal.Entry::failed).count();
        int step = journal.faultAt();
        if (step < 0) {
            return;
        }
        faults.merge(plan.fault(), 1, Integer::sum);
        Map<Place, Integer> places = plan.timed() ? timed : scripted;
        places.merge(place(plan.script(), step), 1, Integer::sum);
    }

    private static Place place(Script script, int step) {
        Script.Kind kind = step > script.steps().size() ? null : script.kind(step);
        if (kind == null) {
            return step == 0 ? Place.INIT : Place.END;
        }
        return switch (kind) {
            case ALL_REDUCE, BROADCAST, RING, CHILD_ALL_REDUCE -> Place.OPERATION;
            case SPLIT -> Place.SPLIT;
            case CHILD_CLOSE, CHILD_ABORT -> Place.CHILD_END;
            case FINALIZE -> Place.FINALIZE;
        };
    }

    /** In so many schedules each fault was met often enough, and so was each place. */
    void requireEach(int schedules) {
        LEAST_FAULTS.forEach((each, least) -> require(faults.get(each), least, schedules));
        LEAST_TIMED.forEach((each, least) -> require(timed.get(each), least, schedules));
        LEAST_SCRIPTED.forEach((each, least) -> require(scripted.get(each), least, schedules));
        require(failedRanks, LEAST_FAILED_RANKS, schedules);
    }

    private void require(@Nullable Integer found, int least, int schedules) {
        boolean enough = found != null && 1000 * found >= least * schedules;
        assertTrue(enough, () -> "too few: " + this);
    }

    @Override
    public String toString() {
        return "faults met "
                + faults
                + ", by time in "
                + timed
                + ", by script in "
                + scripted
                + ", ranks failed "
                + failedRanks;
    }
}
