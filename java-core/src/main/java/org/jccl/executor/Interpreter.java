package org.jccl.executor;

import org.jccl.plan.OpCode;
import org.jccl.plan.Plan;
import org.jccl.platform.Memory;
import org.jccl.reduce.Reductions;
import org.jccl.transport.Links;
import org.jccl.transport.RegionLayout;
import org.jccl.type.NcclException;
import org.jccl.type.RedOp;

import java.lang.foreign.ValueLayout;

/**
 * Executes the plan of one collective call of one communicator. {@link #advance} goes as far as
 * peers allow and keeps its place in fields; it never blocks and allocates nothing.
 *
 * <p>Used by the owner of the communicator only, so its fields are plain.
 *
 * <p>Before a plan starts, two credits hold. A call of number k may write what belongs to its
 * parity once every rank that call k-2 concerned has published call word k-1, and so has finished
 * k-2. It may write ring slots, which belong to no parity, once every rank that the last call that
 * used them concerned has published the call after it. Mates always count as concerned. So a rank
 * publishes a call to those that it concerns and to those that the call before concerned. A call
 * that a device runs writes its word and record alone, and needs less ({@link CallWords#credit}).
 */
public final class Interpreter {
    /** How often a wait looks before it returns. */
    private static final int POLLS = 64;

    /** How much of a tiny message each look at its word reads too, until it has come. */
    private static final int AHEAD_BYTES = 256;

    private static final int DICE_FACTOR = 0x5bd1e995;

    private final Links links;
    private final int rank;
    private final int nRanks;
    private final BufferTable bufferTable;

    /** By parity of a call. */
    private final long[][] tables;

    private final long[] sources;

    /** The calls of this communicator. */
    final CallWords calls;

    private Task task = new Task();
    private int[] code = {OpCode.END};
    private long[] args = {};
    private long[] buffers;
    private int pc;
    private int step;
    private long sequence;
    private long lastRingCall;

    /** Whether the last call, which may be over, has been published. */
    private boolean announced;

    /** Whether its plan has begun, since all that comes before it is done. */
    private boolean running;

    /** Whether the call gives something in place of its input; below, what its plan has. */
    private boolean copies;

    private boolean peers;
    private final PeerSteps peerSteps;

    /** What {@link #advance} waits for. */
    final Blocked blocked;

    private final InputCopy inputCopy;
    private int dice;

    /** An interpreter for the ranks behind {@code links}. */
    public Interpreter(Links links) {
        this.links = links;
        this.rank = links.rank();
        this.nRanks = links.nRanks();
        this.sources = new long[nRanks];
        this.blocked = new Blocked();
        this.calls = new CallWords(links, blocked);
        this.peerSteps = new PeerSteps(links, calls, blocked);
        this.inputCopy = new InputCopy(nRanks);
        this.bufferTable = new BufferTable(links);
        this.tables = bufferTable.tables;
        this.buffers = tables[0];
    }

    /**
     * Chooses another of the ranks that are awaited now, for a thread that goes to sleep. If all
     * slept on the first missing rank, each rank that comes would wake them all.
     */
    void awaitAnother() {
        if (nRanks == 2 || links.anyNet() || blocked.address() == 0) {
            return;
        }
        dice = dice * DICE_FACTOR + rank + 1;
        int turn = dice >>> 1;
        if (running) {
            remaining().awaitAnyFrom(pc, turn, blocked);
        } else {
            calls.awaitAnyOf(announced ? lastRingCall + 1 : credit(), turn);
        }
    }

    /** Starts the task's plan; call {@link #advance} until it is done. */
    public void begin(Task call) {
        task = call;
        Plan plan = call.plan();
        code = plan.code();
        args = plan.args();
        pc = 0;
        step = 0;
        announced = false;
        running = false;
        calls.next(call.description, call.count(), plan.partners());
        buffers = tables[calls.parity()];
        copies = plan.copiesInput() || call.factor() != null;
        buffers[Plan.IN] = copies ? inputCopy.begin(call) : call.input();
        buffers[Plan.OUT] = call.output();
        peers = plan.hasPeerSteps();
        if (peers) {
            peerSteps.begin(call, buffers, sequence);
        }
    }

    /**
     * Goes as far as possible.
     *
     * @return whether the call is complete
     * @throws NcclException if the ranks turn out to have called differently, or an area cannot be
     *     mapped
     */
    public boolean advance() {
        if (peers) {
            peerSteps.turn();
        }
        if ((!running && !prepare()) || !run()) {
            return false;
        }
        finish();
        return true;
    }

    /** Whether {@link #advance} has stopped to let other threads in, and can go on at once. */
    boolean paused() {
        return (peers && peerSteps.paused()) || (copies && !inputCopy.isMade());
    }

    private void finish() {
        Plan plan = task.plan();
        sequence += plan.sequenceNumbers();
        if (plan.hearsAll()) {
            calls.heardAll();
        }
        if (plan.usesRing()) {
            lastRingCall = calls.number();
        }
        if (copies) {
            inputCopy.release();
        }
    }

    private long credit() {
        return calls.credit(task.runsOnDevice);
    }

    /** Each call of this goes on where the one before has stopped: what is done stays so. */
    private boolean prepare() {
        Plan plan = task.plan();
        if (copies && !inputCopy.make()) {
            blocked.unknown();
            return false;
        }
        if (!calls.hear(credit())) {
            return false;
        }
        if (!announced) {
            calls.publish(task, buffers, !plan.publishesTiny());
            announced = true;
            if (task.runsOnDevice) {
                // No word of another rank is awaited, now or perhaps ever: who comes last compares.
                calls.checkPeers();
            }
        }
        if (peers && !peerSteps.announce(plan)) {
            return false;
        }
        int missing = plan.usesArea() ? bufferTable.mapAreas() : -1;
        if (missing >= 0) {
            return blocked.on(missing, 0, 0);
        }
        if (plan.usesRing() && lastRingCall > 0 && !calls.hear(lastRingCall + 1)) {
            return false;
        }
        running = true;
        return true;
    }

    /**
     * Looks for a rank whose current call differs from this rank's last one, which may be over; for
     * the slow path of a wait.
     *
     * @throws NcclException if there is one
     */
    void checkPeers() {
        if (announced) {
            calls.checkPeers();
        }
    }

    /**
     * Tells ranks behind TCP that nothing else tells of the last call; for the slow path. The word
     * of a tiny message never comes before the message.
     */
    void tellAll() {
        if (!announced || code[pc] == OpCode.END || !task.plan().publishesTiny()) {
            peerSteps.tellAll();
        }
    }

    private boolean run() {
        int[] c = code;
        int at = pc;
        while (true) {
            int next;
            switch (c[at]) {
                case OpCode.END -> {
                    pc = at;
                    return true;
                }
                case OpCode.COPY -> {
                    int a = c[at + 3];
                    Memory.copy(
                            buffers[c[at + 2]] + args[a + 1],
                            buffers[c[at + 1]] + args[a],
                            args[a + 2]);
                    next = at + 4;
                }
                case OpCode.SIGNAL -> {
                    long flag = links.ownBase() + RegionLayout.flag(c[at + 1]);
                    Memory.putLong(flag + RegionLayout.FLAG_WORD, calls.word());
                    Memory.putLongRelease(flag, sequence + c[at + 2]);
                    links.wakeSleepers();
                    next = at + 3;
                }
                case OpCode.WAIT -> next = await(c, at) ? at + 4 : at;
                case OpCode.FOLD -> next = fold(c, at, task.redOp());
                case OpCode.FOLD_PART -> next = fold(c, at, partOp());
                case OpCode.DIVIDE -> {
                    divide(buffers[c[at + 1]], c[at + 2]);
                    next = at + 3;
                }
                case OpCode.TINY_PUT -> {
                    tinyPut(buffers[c[at + 1]] + args[c[at + 2]], (int) args[c[at + 2] + 1]);
                    next = at + 3;
                }
                case OpCode.TINY_FOLD -> next = tinyFold(c, at) ? at + 4 : at;
                case OpCode.TINY_COPY -> next = tinyCopy(c, at) ? at + 4 : at;
                default -> next = peerSteps.run(c, at) ? at + OpCode.length(c, at) : at;
            }
            if (next == at) {
                pc = at;
                return false;
            }
            at = next;
        }
    }

    /** Where in its plan the call is, and how far in a long step; for the owner. */
    long position() {
        return pc + (peers ? peerSteps.pulled() : 0) + (copies ? inputCopy.made() : 0);
    }

    private boolean await(int[] c, int at) {
        int q = c[at + 1];
        long address = links.base(q) + RegionLayout.flag(c[at + 2]);
        long wanted = sequence + c[at + 3];
        long seen = 0;
        for (int i = 0; i < POLLS; i++) {
            seen = Memory.getLongAcquire(address);
            if (seen >= wanted) {
                if (Memory.getLong(address + RegionLayout.FLAG_WORD) != calls.word()) {
                    calls.requireSameCall(q);
                }
                return true;
            }
            if (links.anyNet() && !links.receive(q)) {
                return blocked.on(q, address, seen);
            }
            links.pause();
        }
        return blocked.on(q, address, seen);
    }

    private int fold(int[] c, int at, int redOp) {
        int a = c[at + 2];
        int n = c[at + 3];
        for (int i = 0; i < n; i++) {
            sources[i] = buffers[c[at + 4 + 2 * i]] + args[c[at + 5 + 2 * i]];
        }
        long count = args[a + 1] / task.plan().elementBytes();
        Reductions.fold(task.typeNumber(), redOp, buffers[c[at + 1]] + args[a], sources, n, count);
        return at + 4 + 2 * n;
    }

    private int partOp() {
        return task.redOp() == RedOp.AVG.number() ? RedOp.SUM.number() : task.redOp();
    }

    private void divide(long dst, int a) {
        if (task.redOp() == RedOp.AVG.number()) {
            long count = args[a + 1] / task.plan().elementBytes();
            Reductions.divide(task.typeNumber(), dst + args[a], nRanks, count);
        }
    }

    private void tinyPut(long from, int bytes) {
        long base = links.ownBase();
        long to = base + calls.tiny(calls.number(), bytes);
        if (bytes == 8) {
            Memory.putLong(to, Memory.getLong(from));
        } else {
            Memory.copy(from, to, bytes);
        }
        Memory.putLongRelease(calls.address(rank), calls.word());
        links.wakeSleepers();
    }

    /**
     * Waits for rank {@code q}'s tiny message. Between its looks at the word it reads from the
     * lines of the message and drops the values. C2 may therefore omit the reads; in this form they
     * make 128 bytes a third faster. Reads that C2 has to keep gain less (bench/README.md).
     */
    private boolean awaitTiny(int q, int bytes) {
        long at = calls.address(q);
        long message = links.base(q) + calls.tiny(calls.number(), bytes);
        long end = message + Math.min(apart(bytes), AHEAD_BYTES);
        long seen = 0;
        for (int i = 0; i < POLLS; i++) {
            seen = Memory.getLongAcquire(at);
            for (long line = message; line < end; line += RegionLayout.LINE_BYTES) {
                Memory.getLongAcquire(line);
            }
            if (seen == calls.word()) {
                return true;
            }
            if ((int) (seen >>> 32) == (int) calls.number()) {
                throw calls.mismatch(q, calls.number());
            }
            if (links.anyNet() && !links.receive(q)) {
                return blocked.on(q, at, seen);
            }
            links.pause();
        }
        return blocked.on(q, at, seen);
    }

    private boolean tinyFold(int[] c, int at) {
        int a = c[at + 3];
        int bytes = (int) args[a + 1];
        for (; step < nRanks; step++) {
            if (step != rank && !awaitTiny(step, bytes)) {
                return false;
            }
        }
        step = 0;
        takeNextLines(bytes);
        long tiny = calls.tiny(calls.number(), bytes);
        for (int q = 0; q < nRanks; q++) {
            sources[q] = links.base(q) + tiny;
        }
        sources[rank] = buffers[c[at + 2]] + args[a + 2];
        long to = buffers[c[at + 1]] + args[a];
        int count = bytes / task.plan().elementBytes();
        Reductions.fold(task.typeNumber(), task.redOp(), to, sources, nRanks, count);
        return true;
    }

    /**
     * Stores into the lines of this rank's next message, which is most often as long as this one.
     * So this core owns them again when it writes that message, and they come while it reads those
     * of the other ranks. All ranks are in this call, so that none reads these lines any more.
     *
     * <p>C2 has to inline the store ({@link Memory#ALL}): with a call for each, the lines would
     * come one after the other.
     */
    private void takeNextLines(int bytes) {
        if (links.anyNet()) {
            return;
        }
        long next = links.ownBase() + calls.tiny(calls.number() + 1, bytes);
        long end = next + apart(bytes);
        for (long line = next; line < end; line += RegionLayout.LINE_BYTES) {
            Memory.ALL.set(ValueLayout.JAVA_LONG_UNALIGNED, line, 0L);
        }
    }

    /** Bytes of a tiny message that lie in other cache lines than its call word. */
    private static int apart(int bytes) {
        return bytes <= RegionLayout.LINE_PAYLOAD ? 0 : bytes;
    }

    private boolean tinyCopy(int[] c, int at) {
        int q = c[at + 2];
        int a = c[at + 3];
        int bytes = (int) args[a + 3];
        if (!awaitTiny(q, bytes)) {
            return false;
        }
        long message = links.base(q) + calls.tiny(calls.number(), bytes);
        Memory.copy(message + args[a + 2], buffers[c[at + 1]] + args[a], args[a + 1]);
        return true;
    }

    /**
     * Whether the call, which has begun and is not over, cannot end without something more from
     * rank {@code q}; for the slow look at the health of its ranks.
     */
    boolean needs(int q) {
        return q == blocked.rank() || (!running && lacksCredit(q)) || remaining().needs(pc, q);
    }

    private Remaining remaining() {
        return new Remaining(links, calls, task.plan(), sequence);
    }

    private boolean lacksCredit(int q) {
        Plan plan = task.plan();
        return calls.lacks(q, credit())
                || (plan.usesRing() && lastRingCall > 0 && calls.lacks(q, lastRingCall + 1))
                || (plan.usesArea() && !links.region(q).hasRing());
    }

    /** Frees what calls have used. */
    void close() {
        inputCopy.close();
    }
}
