package org.jccl.machine;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/** A process of the simulated computer: classes of its own, threads, descriptors and memory. */
final class SimulatedProcess {
    private final Machine machine;
    private final int pid;
    private final int node;
    private final Map<String, String> variables;
    private final ProcessClasses classes;
    private final Kernel kernel;
    private final List<Actor> actors = new ArrayList<>();
    private final IdentityHashMap<Thread, Actor> byThread = new IdentityHashMap<>();

    /** By monitor or condition, how often it has been signalled. */
    private final IdentityHashMap<Object, Long> signals = new IdentityHashMap<>();

    private long stoppedUntilNs;
    private long sentBytes;
    private boolean dead;

    /**
     * A process of a machine.
     *
     * @param node on which simulated computer; processes of one share memory
     * @param classes not used by another living process
     */
    SimulatedProcess(
            Machine machine,
            int pid,
            int node,
            Map<String, String> variables,
            ProcessClasses classes) {
        this.machine = machine;
        this.pid = pid;
        this.node = node;
        this.variables = new HashMap<>(variables);
        this.classes = classes;
        this.kernel = new Kernel(this);
        machine.add(this);
    }

    Machine machine() {
        return machine;
    }

    int pid() {
        return pid;
    }

    int node() {
        return node;
    }

    Kernel kernel() {
        return kernel;
    }

    ProcessClasses classes() {
        return classes;
    }

    boolean dead() {
        return dead;
    }

    void ensureAlive() {
        if (dead) {
            throw new Actor.Killed();
        }
    }

    long stoppedUntilNs() {
        return stoppedUntilNs;
    }

    @Nullable String variable(String name) {
        return variables.get(name);
    }

    /** A new thread. */
    Actor start(String name, Runnable body) {
        Actor actor = new Actor(this, pid * 100 + actors.size(), name, body);
        actors.add(actor);
        return actor;
    }

    /** A thread of JCCL's; not the one that compiles kernels, which takes as long as it likes. */
    void start(Thread thread) {
        if (thread.getName().equals("jccl-warm")) {
            return;
        }
        byThread.put(thread, start(thread.getName(), thread));
    }

    @Nullable Actor actor(Thread thread) {
        return byThread.get(thread);
    }

    /** Threads that have not ended. */
    List<Actor> threads() {
        return actors.stream().filter(actor -> !actor.ended()).toList();
    }

    List<Actor> actors() {
        return actors;
    }

    void await(Object monitor, long ns) {
        long before = signals.getOrDefault(monitor, 0L);
        machine.runningActor()
                .await(
                        () -> signals.getOrDefault(monitor, 0L) != before,
                        ns == 0 ? Machine.NEVER : machine.nowNs() + ns);
    }

    void signal(Object monitor) {
        signals.merge(monitor, 1L, Long::sum);
        changed();
    }

    /** Something that its threads may wait for has changed. */
    void changed() {
        for (int i = 0; i < actors.size(); i++) {
            actors.get(i).look();
        }
    }

    String file(String path, String otherwise) {
        if (path.endsWith("/hostname")) {
            return "node" + node;
        }
        if (path.endsWith("/boot_id")) {
            return "boot" + node;
        }
        String process = path.split("/", -1)[2];
        SimulatedProcess other =
                process.equals("self") ? this : machine.process(Long.parseLong(process));
        if (!path.endsWith("/stat") || other == null || other.dead || other.node != node) {
            return otherwise;
        }
        return other.pid + " (java) S" + " 0".repeat(18) + " " + other.pid * 7 + " 0";
    }

    void sent(int bytes) {
        sentBytes += bytes;
    }

    /** Bytes that it has given to sockets. */
    long sentBytes() {
        return sentBytes;
    }

    /** SIGSTOP now, SIGCONT later. */
    void stop(long ns) {
        machine.note("stop " + pid);
        stoppedUntilNs = machine.nowNs() + ns;
    }

    /** SIGKILL: no thread of it does anything any more; the system closes what it had. */
    void kill() {
        if (dead) {
            return;
        }
        machine.note("kill " + pid);
        dead = true;
        kernel.end();
        machine.processes().forEach(SimulatedProcess::changed);
        for (int i = 0; i < actors.size(); i++) {
            actors.get(i).unwind();
        }
        kernel.unmap();
    }
}
