package org.jccl.machine.program;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.Group;
import org.jccl.machine.Journal;
import org.jccl.machine.Script;
import org.jccl.machine.Script.Deviation;
import org.jccl.machine.Script.Instead;
import org.jccl.machine.Script.Step;
import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.RedOp;
import org.jccl.type.UniqueId;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** One rank of a job, as a user would write it: it follows the script and closes at the end. */
public final class RankProgram implements Runnable {
    private static final long FIRST_POLL_NS = 20_000;
    private static final long LAST_POLL_NS = 50_000_000;

    private final Script script;
    private final int rank;
    private final Journal journal;

    private @Nullable Communicator comm;
    private @Nullable Communicator child;
    private int step;

    /** A rank of the job with this script. */
    public RankProgram(Script script, int rank, Journal journal) {
        this.script = script;
        this.rank = rank;
        this.journal = journal;
    }

    @Override
    public void run() {
        try {
            if (follow()) {
                journal.add(rank, step, "DONE", "");
            }
        } catch (NcclException e) {
            journal.add(rank, step, e.result().name(), e.getMessage());
        } catch (RuntimeException e) {
            journal.add(rank, step, "THROWN", e + " at " + e.getStackTrace()[0]);
        }
        journal.reached(rank, script.steps().size() + 1);
        close(child);
        close(comm);
        journal.add(rank, step, "CLOSED", "");
    }

    private static void close(@Nullable Communicator open) {
        if (open != null) {
            open.close();
        }
    }

    /** Ends the communicator from another thread. */
    public void abort() {
        Communicator open = comm;
        if (open != null) {
            journal.meets(rank);
            open.abort();
        }
    }

    private boolean follow() {
        if (!goOn()) {
            return false;
        }
        if (rank == 0) {
            journal.id(Communicator.uniqueId().toBytes());
        }
        byte[] id = journal.id();
        for (long pauseNs = FIRST_POLL_NS; id == null; pauseNs *= 2) {
            if (journal.hopeless()) {
                journal.add(rank, step, "LEFT", "");
                return false;
            }
            LockSupport.parkNanos(Math.min(pauseNs, LAST_POLL_NS));
            id = journal.id();
        }
        Config config = Config.DEFAULT.withBlocking(script.blocking());
        Communicator made = Communicator.initRank(script.nRanks(), new UniqueId(id), rank, config);
        comm = made;
        awaitReady(made);
        for (Step each : script.steps()) {
            step++;
            journal.reached(rank, step);
            if (!goOn()) {
                return false;
            }
            perform(made, each);
        }
        return true;
    }

    private boolean goOn() {
        Deviation own = script.deviation(rank, step);
        if (own == null) {
            return true;
        }
        journal.meets(rank);
        if (own.what() == Instead.SLEEP) {
            LockSupport.parkNanos(own.sleepNs());
            return true;
        }
        journal.add(rank, step, "LEFT", "");
        if (own.what() == Instead.ABORT) {
            abort();
        }
        return false;
    }

    /** Polls, more and more seldom. */
    private void awaitReady(Communicator open) {
        long pauseNs = FIRST_POLL_NS;
        while (!script.blocking() && open.asyncError() == NcclResult.IN_PROGRESS) {
            LockSupport.parkNanos(pauseNs);
            pauseNs = Math.min(2 * pauseNs, LAST_POLL_NS);
        }
        if (!script.blocking()) {
            open.awaitReady(Duration.ZERO);
        }
    }

    private void perform(Communicator made, Step each) {
        Communicator small = child;
        switch (each.kind()) {
            case ALL_REDUCE -> allReduce(made, each.argument());
            case BROADCAST -> broadcast(made, each.argument());
            case RING -> ring(made, each.argument());
            case SPLIT -> {
                close(small);
                child = made.split(made.rank() % each.argument(), 0);
                awaitReady(made);
                awaitReady(java.util.Objects.requireNonNull(child));
            }
            case CHILD_ALL_REDUCE -> {
                if (small != null) {
                    allReduce(small, each.argument());
                }
            }
            case CHILD_CLOSE -> {
                close(small);
                child = null;
            }
            case CHILD_ABORT -> {
                if (small != null) {
                    journal.add(rank, step, "CHILD_ABORTED", "");
                    small.abort();
                }
                child = null;
            }
            case FINALIZE -> {
                made.finalizeCommunicator();
                awaitReady(made);
            }
        }
    }

    private void allReduce(Communicator on, int count) {
        try (Arena arena = Arena.ofShared()) {
            MemorySegment data = arena.allocate(8L * Math.max(1, count), 64);
            for (int i = 0; i < count; i++) {
                data.setAtIndex(ValueLayout.JAVA_LONG, i, (on.rank() + 1L) * (i + step));
            }
            on.allReduce(data, data, count, DataType.INT64, RedOp.SUM);
            awaitReady(on);
            long ranks = on.count();
            for (int i = 0; i < count; i++) {
                long expected = ranks * (ranks + 1) / 2 * (i + step);
                check(i, data.getAtIndex(ValueLayout.JAVA_LONG, i), expected);
            }
        }
    }

    private void broadcast(Communicator on, int count) {
        int root = step % on.count();
        try (Arena arena = Arena.ofShared()) {
            MemorySegment data = arena.allocate(8L * Math.max(1, count), 64);
            for (int i = 0; i < count; i++) {
                data.setAtIndex(ValueLayout.JAVA_LONG, i, on.rank() == root ? i + step : -1);
            }
            on.broadcast(data, data, count, DataType.INT64, root);
            awaitReady(on);
            for (int i = 0; i < count; i++) {
                check(i, data.getAtIndex(ValueLayout.JAVA_LONG, i), i + step);
            }
        }
    }

    /** Everybody sends to the next one and receives from the one before. */
    private void ring(Communicator on, int count) {
        int n = on.count();
        int me = on.rank();
        try (Arena arena = Arena.ofShared()) {
            MemorySegment out = arena.allocate(8L * Math.max(1, count), 64);
            MemorySegment in = arena.allocate(8L * Math.max(1, count), 64);
            for (int i = 0; i < count; i++) {
                out.setAtIndex(ValueLayout.JAVA_LONG, i, 1000L * me + i);
            }
            Group.run(
                    () -> {
                        on.send(out, count, DataType.INT64, (me + 1) % n);
                        on.recv(in, count, DataType.INT64, (me + n - 1) % n);
                    });
            awaitReady(on);
            for (int i = 0; i < count; i++) {
                long expected = 1000L * ((me + n - 1) % n) + i;
                check(i, in.getAtIndex(ValueLayout.JAVA_LONG, i), expected);
            }
        }
    }

    private static void check(int i, long found, long expected) {
        if (found != expected) {
            throw new IllegalStateException("element " + i + " is " + found + ", not " + expected);
        }
    }
}
