package org.jccl.machine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Schedules of init, operations, split, finalize, abort, destroy, death and delay on the simulated
 * machine. {@code -Djccl.seed=n} runs that one alone.
 */
class LifeCycleSimulationTest {
    private static final int SCHEDULES = 200;
    private static final int STRESS_SCHEDULES = 10_000;
    private static final int MOST_SHOWN = 5;

    @Test
    void schedulesEndWellAndNameTheirErrors() {
        Long only = Long.getLong("jccl.seed");
        if (only == null) {
            check(0, SCHEDULES).requireEach(SCHEDULES);
        } else {
            check(only, only + 1);
        }
    }

    @Test
    @Tag("stress")
    void tenThousandSchedulesEndWellAndNameTheirErrors() {
        // Other schedules in each run.
        long first = System.currentTimeMillis();
        check(first, first + STRESS_SCHEDULES).requireEach(STRESS_SCHEDULES);
    }

    private static Strikes check(long from, long to) {
        List<String> wrong = new ArrayList<>();
        Strikes strikes = new Strikes();
        long since = System.nanoTime();
        for (long seed = from; seed < to && wrong.size() < MOST_SHOWN; seed++) {
            Schedule schedule = new Schedule(seed, Set.of());
            boolean well = schedule.run().isEmpty();
            strikes.add(schedule);
            if (!well) {
                wrong.add("replay with -Djccl.seed=" + seed + ": " + schedule);
            }
        }
        long seconds = (System.nanoTime() - since) / 1_000_000_000;
        System.out.printf("seeds %d to %d took %d s; %s%n", from, to - 1, seconds, strikes);
        assertEquals(List.of(), wrong);
        return strikes;
    }

    @Test
    void aSeedReplaysItsScheduleExactly() {
        long[] traces = new long[10];
        for (int seed = 0; seed < traces.length; seed++) {
            traces[seed] = trace(seed);
        }
        Schedule.forgetClasses();
        for (int seed = traces.length - 1; seed >= 0; seed--) {
            assertEquals(traces[seed], trace(seed), "seed " + seed);
        }
    }

    private static long trace(long seed) {
        Schedule schedule = new Schedule(seed, Set.of());
        schedule.run();
        return schedule.trace();
    }

    /**
     * A thread that does not check whether its peer has died waits for ever, or to the time limit.
     */
    @Test
    void findsAPlantedHangAndReplaysIt() {
        Set<String> fault = Set.of("Health.lookForDeath");
        for (long seed = 0; seed < SCHEDULES; seed++) {
            Schedule schedule = new Schedule(seed, fault);
            List<String> complaints = schedule.run();
            if (complaints.stream().anyMatch(each -> each.contains("hangs in"))) {
                Schedule again = new Schedule(seed, fault);
                assertEquals(complaints, again.run());
                assertEquals(schedule.trace(), again.trace());
                return;
            }
        }
        fail("no schedule found it");
    }
}
