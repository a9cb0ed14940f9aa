package org.jccl.machine;

import org.jccl.machine.Plan.Fault;
import org.jccl.machine.Script.Kind;
import org.jccl.machine.Script.Step;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;

/**
 * One schedule: a job with its fault, then a job of the survivors, then the end of everything; all
 * of it drawn from a seed. {@link Verdict} says what is wrong with it.
 */
final class Schedule {
    /** Longer than anything takes that ends at all; time without events costs nothing. */
    private static final long LIMIT_NS = 300 * Machine.SECOND;

    /** After it sockets linger no more and idle threads have ended. */
    private static final long QUIET_NS = 20 * Machine.SECOND;

    private static final int MOST_RANKS = 5;
    static final int INIT_TIMEOUT_SECONDS = 30;

    /** Hello, number of the rank and proof: a rank that has sent them is known to the root. */
    private static final int PROOF_BYTES = 68 + 180 + 32;

    /** Classes of processes that have ended; those of rank 0, which are compiled first, on top. */
    private static final ArrayDeque<ProcessClasses> FREE = new ArrayDeque<>();

    private final long seed;
    private final Set<String> plantedFaults;
    private final Machine machine;
    private final Plan plan;
    private final Journal first = new Journal();
    private final Journal second = new Journal();
    private final List<SimulatedProcess> processes = new ArrayList<>();
    private final List<String> complaints;
    private boolean metAtFault = true;

    Schedule(long seed, Set<String> plantedFaults) {
        this.seed = seed;
        this.plantedFaults = plantedFaults;
        Random random = new Random(seed * 0x9e3779b97f4a7c15L);
        this.plan = Plan.draw(random, MOST_RANKS);
        this.machine = new Machine(random.nextLong());
        this.complaints = machine.complaints();
    }

    /** The next processes get new classes. */
    static void forgetClasses() {
        FREE.clear();
    }

    /** A number that stands for everything that it did, and when. */
    long trace() {
        return machine.trace();
    }

    /** Says what was wrong; empty if all was well. */
    List<String> run() {
        try {
            startProcesses();
            if (job(plan.script(), first, processes, true)) {
                complaints.addAll(verdict(first).complaints());
                if (job(plainScript(), second, survivors(), false)) {
                    complaints.addAll(verdict(second).complaintsOfNextJob());
                    end();
                }
            }
        } finally {
            release();
        }
        return complaints;
    }

    private void startProcesses() {
        for (int rank = 0; rank < plan.nodes().size(); rank++) {
            ProcessClasses classes = plantedFaults.isEmpty() ? FREE.poll() : null;
            processes.add(
                    new SimulatedProcess(
                            machine,
                            rank + 1,
                            plan.nodes().get(rank),
                            Map.of("JCCL_INIT_TIMEOUT", "" + INIT_TIMEOUT_SECONDS),
                            classes == null ? new ProcessClasses(plantedFaults) : classes));
        }
    }

    private Verdict verdict(Journal journal) {
        return new Verdict(plan, journal, metAtFault);
    }

    private List<SimulatedProcess> survivors() {
        return processes.stream().filter(process -> !process.dead()).toList();
    }

    private Script plainScript() {
        List<Step> steps =
                List.of(
                        new Step(Kind.ALL_REDUCE, 5),
                        new Step(Kind.RING, 100),
                        new Step(Kind.ALL_REDUCE, 3_000));
        return new Script(survivors().size(), plan.script().blocking(), steps, List.of());
    }

    /** Whether all ranks have come to their end. */
    private boolean job(
            Script script, Journal journal, List<SimulatedProcess> members, boolean faulty) {
        List<Actor> mains = new ArrayList<>();
        List<Runnable> programs = new ArrayList<>();
        for (int rank = 0; rank < members.size(); rank++) {
            SimulatedProcess process = members.get(rank);
            Runnable program = process.classes().program("RankProgram", script, rank, journal);
            programs.add(program);
            mains.add(process.start("main", program));
        }
        if (faulty) {
            int victim = plan.victim();
            Runnable program = programs.get(victim);
            Runnable strike =
                    () -> {
                        if (!mains.stream().allMatch(Schedule::over)) {
                            strike(members.get(victim), program, journal);
                        }
                    };
            journal.when(victim, plan.fromStep(), () -> machine.after(plan.atNs(), strike));
        }
        if (machine.runUntil(() -> mains.stream().allMatch(Schedule::over), LIMIT_NS)) {
            for (Actor main : mains) {
                Throwable failure = main.failure();
                if (failure != null) {
                    machine.complain(main.name() + " threw " + failure, failure);
                }
            }
            return true;
        }
        for (Actor main : mains) {
            if (!over(main)) {
                complaints.add("rank " + mains.indexOf(main) + " hangs in " + stack(main));
            }
        }
        return false;
    }

    private static boolean over(Actor main) {
        return main.ended() || main.process().dead();
    }

    private static String stack(Actor actor) {
        return Arrays.stream(actor.stack())
                .filter(frame -> frame.getClassName().startsWith("org.jccl"))
                .map(frame -> frame.getFileName() + ":" + frame.getLineNumber())
                .toList()
                .toString();
    }

    private void strike(SimulatedProcess victim, Runnable program, Journal journal) {
        metAtFault = victim.sentBytes() >= PROOF_BYTES;
        if (plan.fault() == Fault.KILL || plan.fault() == Fault.STOP) {
            journal.meets(plan.victim());
        }
        switch (plan.fault()) {
            case KILL -> {
                journal.struck();
                victim.kill();
                if (plan.victim() == 0) {
                    journal.giveUp();
                }
            }
            case STOP -> victim.stop(plan.lengthNs());
            case ABORT_ELSEWHERE ->
                    victim.start(
                            "aborter", victim.classes().program("AbortProgram", program, journal));
            default -> {}
        }
    }

    /** Nothing may be left; then nothing is. */
    private void end() {
        machine.runUntil(() -> false, QUIET_NS);
        for (SimulatedProcess process : survivors()) {
            List<String> open = process.kernel().open();
            // The listener and its spare socket, what wakes jccl-net, and unproven connections.
            if (open.size() > 4 || open.contains("memory")) {
                complaints.add("process " + process.pid() + " still has " + open);
            }
            process.start("leaver", process.classes().program("LeaveProgram"));
        }
        machine.runUntil(() -> false, QUIET_NS);
        for (SimulatedProcess process : survivors()) {
            List<String> open = process.kernel().open();
            List<String> threads =
                    process.threads().stream()
                            .map(Actor::name)
                            .filter(name -> !name.startsWith("jccl-stream"))
                            .toList();
            if (!open.isEmpty() || !threads.isEmpty()) {
                complaints.add(
                        "process " + process.pid() + " ends with " + open + " and " + threads);
            }
        }
    }

    private void release() {
        processes.forEach(SimulatedProcess::kill);
        for (SimulatedProcess process : processes.reversed()) {
            if (plantedFaults.isEmpty()) {
                process.classes().forget();
                FREE.push(process.classes());
            }
        }
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("seed " + seed + ": " + plan);
        complaints.forEach(each -> text.append("\n  WRONG ").append(each));
        first.entries().forEach(each -> text.append("\n  ").append(each));
        second.entries().forEach(each -> text.append("\n  next job: ").append(each));
        return text.toString();
    }

    Plan plan() {
        return plan;
    }

    /** The journal of the job with the fault. */
    Journal journal() {
        return first;
    }

    long steps() {
        return machine.steps();
    }
}
