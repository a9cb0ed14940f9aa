package org.jccl.machine;

import org.jccl.machine.Script.Deviation;
import org.jccl.machine.Script.Instead;
import org.jccl.machine.Script.Kind;
import org.jccl.machine.Script.Step;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;

/**
 * What one schedule is about: a job, and at most one fault in it.
 *
 * @param nodes by rank, the node
 * @param script of the job
 * @param fault what goes wrong
 * @param victim the rank that it happens to
 * @param fromStep the step of the victim from whose beginning time counts; 0 for the job's start
 * @param atNs how long after that
 * @param lengthNs how long a stopped process or a sleeping rank stays away
 */
record Plan(
        List<Integer> nodes,
        Script script,
        Fault fault,
        int victim,
        int fromStep,
        long atNs,
        long lengthNs) {
    /** The things that go wrong. */
    enum Fault {
        NONE,
        SLEEP,
        STOP,
        CLOSE,
        ABORT,
        ABORT_ELSEWHERE,
        ABSENT,
        KILL,
    }

    private static final List<Fault> FAULTS = List.of(Fault.values());

    /** Kinds of the steps before the last one. */
    private static final List<Kind> KINDS =
            List.copyOf(EnumSet.complementOf(EnumSet.of(Kind.FINALIZE)));

    private static final int MAX_STEPS = 7;
    private static final int[] COUNTS = {0, 1, 2, 7, 100, 3_000, 20_000};
    private static final long LONGEST_START_NS = 15 * Machine.MS;

    /** Steps are shorter than init. */
    private static final long LONGEST_IN_STEP_NS = 300 * Machine.US;

    private static final long LONGEST_ABSENCE_NS = 15 * Machine.SECOND;

    static Plan draw(Random random, int mostRanks) {
        int n = 2 + random.nextInt(mostRanks - 1);
        List<Integer> nodes = new ArrayList<>();
        int nodeCount = 1 + random.nextInt(n);
        for (int i = 0; i < n; i++) {
            nodes.add(random.nextInt(nodeCount));
        }
        List<Step> steps = new ArrayList<>();
        int length = 1 + random.nextInt(MAX_STEPS);
        for (int i = 0; i < length; i++) {
            steps.add(step(random, n));
        }
        if (random.nextInt(3) == 0) {
            steps.add(new Step(Kind.FINALIZE, 0));
        }
        Fault fault = FAULTS.get(random.nextInt(FAULTS.size()));
        int victim = fault == Fault.ABSENT ? 1 + random.nextInt(n - 1) : random.nextInt(n);
        // Early times are likelier: most of the life cycle happens there.
        double early = random.nextDouble() * random.nextDouble();
        int fromStep = random.nextInt(3) == 0 ? 0 : random.nextInt(steps.size() + 2);
        double longer = early * early;
        long atNs = (long) (fromStep == 0 ? early * LONGEST_START_NS : longer * LONGEST_IN_STEP_NS);
        long lengthNs = (long) (longer * LONGEST_ABSENCE_NS);
        int at = 1 + random.nextInt(steps.size());
        List<Deviation> deviations =
                switch (fault) {
                    case SLEEP -> List.of(new Deviation(victim, at - 1, Instead.SLEEP, lengthNs));
                    case CLOSE -> List.of(new Deviation(victim, at, Instead.CLOSE, 0));
                    case ABORT -> List.of(new Deviation(victim, at, Instead.ABORT, 0));
                    case ABSENT -> List.of(new Deviation(victim, 0, Instead.CLOSE, 0));
                    default -> List.of();
                };
        Script script = new Script(n, random.nextInt(3) == 0, steps, deviations);
        return new Plan(nodes, script, fault, victim, fromStep, atNs, lengthNs);
    }

    private static Step step(Random random, int n) {
        Kind kind = KINDS.get(random.nextInt(KINDS.size()));
        int argument =
                kind == Kind.SPLIT ? 1 + random.nextInt(n) : COUNTS[random.nextInt(COUNTS.length)];
        return new Step(kind, argument);
    }

    /** Whether the fault comes from outside the script, at a time instead of a step. */
    boolean timed() {
        return fault == Fault.KILL || fault == Fault.STOP || fault == Fault.ABORT_ELSEWHERE;
    }

    /** Whether somebody only comes late. */
    boolean lengthens() {
        return fault == Fault.SLEEP || fault == Fault.STOP;
    }

    @Override
    public String toString() {
        return fault
                + " of rank "
                + victim
                + " at "
                + atNs
                + " ns after step "
                + fromStep
                + " for "
                + lengthNs
                + " ns, nodes "
                + nodes
                + ", "
                + script;
    }
}
