package org.jccl.suite;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.Group;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.RedOp;
import org.jccl.type.UniqueId;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/** The wrong calls of {@link MisuseTest}; a rank says how its one ended, on each of two threads. */
public final class Misuse implements Scenario {
    private static final DataType FLOAT32 = DataType.FLOAT32;
    private static final RedOp SUM = RedOp.SUM;
    private static final Config NON_BLOCKING = Config.DEFAULT.withBlocking(false);
    private static final int RACES = 30;
    private static final int CLOSES = 1_000;
    private static final String OPEN_GROUP = "group start without end";

    /** The communicators on which the wrong calls are made. */
    private static final class State {
        final UniqueId id = Communicator.uniqueId();
        final MemorySegment x = Arena.global().allocate(8, 8);
        final MemorySegment y = Arena.global().allocate(8, 8);
        @Nullable Communicator comm;
        @Nullable Communicator other;

        /** A communicator that the wrong call leaves as it is. */
        Communicator comm() {
            return Objects.requireNonNull(comm);
        }

        /** A communicator for calls that come too early or too late in its life. */
        Communicator other() {
            return Objects.requireNonNull(other);
        }

        void reduce(Communicator on) {
            on.allReduce(x, y, 1, FLOAT32, SUM);
        }
    }

    private record Case(Consumer<State> before, Consumer<State> wrong) {}

    private static final Map<String, Case> CASES = new LinkedHashMap<>();

    private static void add(String name, Consumer<State> before, Consumer<State> wrong) {
        CASES.put(name, new Case(before, wrong));
    }

    static {
        add("destroy twice", Misuse::destroyed, s -> s.other().close());
        add("abort twice", Misuse::aborted, s -> s.other().abort());
        add("finalize twice", Misuse::finished, s -> s.other().finalizeCommunicator());
        add("use after destroy", Misuse::destroyed, s -> s.reduce(s.other()));
        add("use after abort", Misuse::aborted, s -> s.reduce(s.other()));
        add("use after finalize", Misuse::finished, s -> s.reduce(s.other()));
        add("query after destroy", Misuse::destroyed, s -> s.other().count());
        add("split after destroy", Misuse::destroyed, s -> s.other().split(0, 0));
        add("use in progress", Misuse::inProgress, s -> s.reduce(s.other()));
        add("destroy in progress", Misuse::inProgress, s -> s.other().close());
        add("no ranks", s -> {}, s -> Communicator.initRank(0, s.id, 0));
        add("too many ranks", s -> {}, s -> Communicator.initRank(65_537, s.id, 0));
        add("rank too large", s -> {}, s -> Communicator.initRank(2, s.id, 2));
        add("rank negative", s -> {}, s -> Communicator.initRank(2, s.id, -1));
        add(
                "unknown device",
                s -> {},
                s -> Communicator.initRank(1, s.id, 0, Config.DEFAULT.withDevice("cuda:9")));
        add("color negative", Misuse::oneRank, s -> s.comm().split(-2, 0));
        add("id used twice", Misuse::destroyed, s -> Communicator.initRank(1, s.id, 0));
        add("one number twice", Misuse::inProgress, Misuse::sameNumberTwice);
        addBuffers();
        addNulls();
        add("group end without start", s -> {}, s -> Group.end());
        add(OPEN_GROUP, Misuse::oneRank, Misuse::startWithoutEnd);
        add("error in a group", Misuse::oneRank, Misuse::errorInAGroup);
        add("blocking and not in a group", s -> {}, Misuse::mixedInAGroup);
        add("blocking and not, both used", Misuse::oneRank, Misuse::bothUsedInAGroup);
        add("garbage-collected undestroyed", s -> {}, s -> lose());
        add("destroy races destroy", s -> {}, s -> raceOfDestroys());
        add("destroy races operations", s -> {}, s -> raceWithOperations(s));
    }

    private static void addBuffers() {
        add("unknown root", Misuse::oneRank, s -> s.comm().broadcast(s.x, s.y, 1, FLOAT32, 1));
        add("unknown peer", Misuse::oneRank, s -> s.comm().send(s.x, 1, FLOAT32, 5));
        add("negative peer", Misuse::oneRank, s -> s.comm().recv(s.x, 1, FLOAT32, -1));
        add(
                "count overflows",
                Misuse::oneRank,
                s -> s.comm().allReduce(s.x, s.y, Long.MAX_VALUE / 2, FLOAT32, SUM));
        add(
                "buffer too small",
                Misuse::oneRank,
                s -> s.comm().allReduce(s.x, s.y, 3, FLOAT32, SUM));
        add(
                "buffer read-only",
                Misuse::oneRank,
                s -> s.comm().allReduce(s.x, s.y.asReadOnly(), 1, FLOAT32, SUM));
        add(
                "buffer on the heap",
                Misuse::oneRank,
                s -> s.comm().allReduce(MemorySegment.ofArray(new int[1]), s.y, 1, FLOAT32, SUM));
        add("buffer freed", Misuse::oneRank, Misuse::freed);
        add(
                "buffers overlap",
                Misuse::oneRank,
                s -> s.comm().allReduce(s.x, s.x.asSlice(1), 1, FLOAT32, SUM));
    }

    // What a caller passes that ignores the annotations.
    @SuppressWarnings({"NullAway", "restricted"})
    private static void addNulls() {
        MemorySegment atNull = MemorySegment.NULL.reinterpret(8);
        add("no id", s -> {}, s -> Communicator.initRank(1, null, 0));
        add(
                "no send buffer",
                Misuse::oneRank,
                s -> s.comm().allReduce(atNull, s.y, 1, FLOAT32, SUM));
        add(
                "no receive buffer",
                Misuse::oneRank,
                s -> s.comm().allReduce(s.x, atNull, 1, FLOAT32, SUM));
        add(
                "send segment null",
                Misuse::oneRank,
                s -> s.comm().allReduce(null, s.y, 1, FLOAT32, SUM));
        add(
                "receive segment without size",
                Misuse::oneRank,
                s -> s.comm().recv(MemorySegment.NULL, 1, FLOAT32, 0));
        add("type null", Misuse::oneRank, s -> s.comm().send(s.x, 1, null, 0));
        add("operation null", Misuse::oneRank, s -> s.comm().allReduce(s.x, s.y, 1, FLOAT32, null));
        add(
                "stream null",
                Misuse::oneRank,
                s -> s.comm().inStream(null).allReduce(s.x, s.y, 1, FLOAT32, SUM));
        add("null in a group", Misuse::oneRank, Misuse::nullInAGroup);
    }

    static Set<String> cases() {
        return CASES.keySet();
    }

    private static void oneRank(State state) {
        state.comm = Communicator.initRank(1, state.id, 0);
    }

    private static void destroyed(State state) {
        state.other = Communicator.initRank(1, state.id, 0);
        state.other.close();
    }

    private static void aborted(State state) {
        state.other = Communicator.initRank(1, state.id, 0);
        state.other.abort();
    }

    private static void finished(State state) {
        state.other = Communicator.initRank(1, state.id, 0);
        state.other.finalizeCommunicator();
    }

    private static void inProgress(State state) {
        state.other = Communicator.initRank(2, state.id, 0, NON_BLOCKING);
    }

    private static void sameNumberTwice(State state) {
        Communicator.initRank(2, state.id, 0, NON_BLOCKING).awaitReady(Duration.ofMinutes(5));
    }

    private static void freed(State state) {
        Arena arena = Arena.ofShared();
        MemorySegment gone = arena.allocate(4, 4);
        arena.close();
        state.comm().allReduce(gone, state.y, 1, FLOAT32, SUM);
    }

    private static void startWithoutEnd(State state) {
        Group.start();
        state.reduce(state.comm());
    }

    private static void errorInAGroup(State state) {
        Group.start();
        try {
            state.comm().broadcast(state.x, state.y, 1, FLOAT32, 1);
        } catch (NcclException first) {
            Group.end();
        }
    }

    @SuppressWarnings("NullAway")
    private static void nullInAGroup(State state) {
        Group.start();
        try {
            state.comm().allReduce(state.x, state.y, 1, FLOAT32, null);
        } catch (NcclException first) {
            Group.end();
        }
    }

    private static void mixedInAGroup(State state) {
        UniqueId next = Communicator.uniqueId();
        Group.start();
        Communicator.initRank(1, state.id, 0);
        try {
            Communicator.initRank(1, next, 0, NON_BLOCKING);
        } catch (NcclException first) {
            Group.end();
        }
    }

    private static void bothUsedInAGroup(State state) {
        Communicator second = Communicator.initRank(1, Communicator.uniqueId(), 0, NON_BLOCKING);
        second.awaitReady(Duration.ofMinutes(5));
        Group.start();
        state.reduce(state.comm());
        try {
            state.reduce(second);
        } catch (NcclException first) {
            Group.end();
        } finally {
            second.abort();
        }
    }

    /** Drops the communicator of one of two ranks of this process; the other rank learns of it. */
    private static void lose() {
        List<Communicator> comms = new ArrayList<>(Communicator.initAll(2));
        comms.removeLast();
        Communicator left = comms.getFirst();
        MemorySegment x = Arena.global().allocate(4, 4);
        Thread collector =
                Thread.ofPlatform()
                        .daemon()
                        .start(
                                () -> {
                                    while (left.asyncError() == NcclResult.SUCCESS) {
                                        System.gc();
                                        LockSupport.parkNanos(10_000_000);
                                    }
                                });
        try {
            left.allReduce(x, x, 1, FLOAT32, SUM);
            throw new AssertionError("nobody told that rank 1 is lost");
        } catch (NcclException told) {
            Sums.require(
                    told.result() == NcclResult.REMOTE_ERROR
                            && String.valueOf(told.getMessage()).contains("rank 1 has left"),
                    told.toString());
        }
        try {
            collector.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        left.close();
    }

    /** Two threads close a communicator: for neither of them that is an error. */
    private static void raceOfDestroys() {
        race(
                (comm, closed) -> {
                    for (int i = 0; i < CLOSES; i++) {
                        comm.close();
                    }
                });
    }

    /** A thread makes operations until one is refused; all those after the close must be. */
    private static void raceWithOperations(State state) {
        race(
                (comm, closed) -> {
                    boolean late = false;
                    try {
                        while (!late) {
                            late = closed.get();
                            state.reduce(comm);
                        }
                    } catch (NcclException e) {
                        String text = String.valueOf(e.getMessage());
                        boolean ended = text.contains("destroyed its communicator");
                        boolean gone = text.contains("has been destroyed");
                        Sums.require(
                                e.result() == NcclResult.INVALID_USAGE && ended
                                        || e.result() == NcclResult.INVALID_ARGUMENT && gone,
                                "no refusal: " + e);
                        return;
                    }
                    throw new AssertionError("an operation after destroy was not refused");
                });
    }

    /**
     * Closes a communicator while another thread calls; that thread learns when close has returned.
     */
    private static void race(BiConsumer<Communicator, AtomicBoolean> caller) {
        for (int i = 0; i < RACES; i++) {
            Communicator comm = Communicator.initRank(1, Communicator.uniqueId(), 0);
            AtomicBoolean closed = new AtomicBoolean();
            @Nullable Throwable[] unexpected = {null};
            Thread other =
                    Thread.ofPlatform()
                            .start(
                                    () -> {
                                        try {
                                            caller.accept(comm, closed);
                                        } catch (RuntimeException | Error e) {
                                            unexpected[0] = e;
                                        }
                                    });
            comm.close();
            comm.close();
            closed.set(true);
            try {
                other.join();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            Sums.require(unexpected[0] == null, "the other thread got " + unexpected[0]);
        }
    }

    @Override
    public void run(Rank rank) throws InterruptedException {
        String name = rank.argument(0);
        Thread second = Thread.ofPlatform().start(() -> rank.say(answer(name)));
        second.join();
        rank.say(answer(name));
    }

    private static String answer(String name) {
        Case one = Objects.requireNonNull(CASES.get(name));
        State state = new State();
        one.before().accept(state);
        String answer = "ok ";
        try {
            one.wrong().accept(state);
        } catch (NcclException e) {
            answer = e.result().name().replace("INVALID_", "") + " " + e.getMessage();
        }
        // A communicator that was ready still works.
        if (state.comm != null && !name.equals(OPEN_GROUP)) {
            Sums.barrier(state.comm);
            state.comm.close();
        }
        return answer;
    }
}
