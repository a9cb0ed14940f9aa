package org.jccl.machine;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.jccl.machine.Plan.Fault;
import org.jccl.machine.Script.Kind;
import org.jccl.machine.Script.Step;
import org.junit.jupiter.api.Test;

import java.util.List;

/**
 * What a job is accused of where its ranks abort a child: ranks 0 and 2 are mates there, as 0 and
 * 1, and so are 1 and 3.
 */
final class VerdictTest {
    private static final int CHILD_CALL = 2;
    private static final int PARENT_CALL = 4;

    private final Machine machine = new Machine(1);
    private final Journal journal = new Journal();

    private List<String> complaints() {
        List<Step> steps =
                List.of(
                        new Step(Kind.SPLIT, 2),
                        new Step(Kind.CHILD_ALL_REDUCE, 1),
                        new Step(Kind.CHILD_ABORT, 0),
                        new Step(Kind.ALL_REDUCE, 1));
        Script script = new Script(4, true, steps, List.of());
        Plan plan = new Plan(List.of(0, 0, 0, 0), script, Fault.NONE, 0, 0, 0, 0);
        return new Verdict(plan, journal, true)
                .complaints().stream().map(each -> each.substring(0, each.indexOf(':'))).toList();
    }

    private void fails(int rank, int step, int culprit) {
        String text = "rank " + culprit + " aborted comm 0x1f rank " + rank + " nranks 4";
        journal.add(rank, step, "REMOTE_ERROR", text);
    }

    private void abortsChild(int rank) {
        journal.add(rank, 3, "CHILD_ABORTED", "");
    }

    @Test
    void mateOfWhoAbortsTheChildMayFailThere() {
        abortsChild(2);
        fails(0, CHILD_CALL, 1);
        assertEquals(List.of(), complaints());
    }

    @Test
    void noOtherMayFailThere() {
        abortsChild(2);
        fails(1, CHILD_CALL, 1);
        assertEquals(List.of("not expected"), complaints());
    }

    @Test
    void nobodyMayFailBeforeTheAbort() {
        fails(0, CHILD_CALL, 1);
        abortsChild(2);
        assertEquals(List.of("not expected"), complaints());
    }

    @Test
    void nobodyMayFailOnTheParent() {
        abortsChild(2);
        fails(0, PARENT_CALL, 2);
        assertEquals(List.of("not expected"), complaints());
    }

    @Test
    void whoFailsBecauseOfTheAbortLeavesAndIsToBlameOnTheParent() {
        abortsChild(2);
        fails(0, CHILD_CALL, 1);
        fails(1, PARENT_CALL, 0);
        assertEquals(List.of(), complaints());
    }

    @Test
    void whoAbortedMustBeNamed() {
        abortsChild(2);
        fails(0, CHILD_CALL, 3);
        assertEquals(List.of("names no culprit of [1]"), complaints());
    }

    @Test
    void theAbortMustBeKnownSoon() {
        abortsChild(2);
        machine.runUntil(() -> false, 6 * Machine.SECOND);
        fails(0, CHILD_CALL, 1);
        assertEquals(List.of("late"), complaints());
    }
}
