package org.jccl.abi;

import org.jccl.comm.CommState;
import org.jccl.platform.Memory;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.UniqueId;

import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * Rank 0 of a communicator of two, brought into one state of its life. Its peer, which never joins
 * an operation, does not block.
 */
final class Subject implements AutoCloseable {
    /** More than a FIFO takes, so that a send has to wait for its receiver. */
    private static final int COUNT = 1 << 18;

    private static final int FLOAT32 = 7;
    private static final int SUM = 0;
    private static final int ALL_REDUCE = 4;
    private static final long DATA = room(8L * COUNT);
    private static final long NOT_A_HANDLE = 0x7fff_1234_5670L;

    /** Only a hang lasts so long. */
    private static final long LIMIT_NS = 300_000_000_000L;

    private final boolean blocking;
    private final long id = room(UniqueId.BYTES);
    private final List<Long> others = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();
    private volatile long handle;
    private long peer;

    private Subject(boolean blocking) {
        this.blocking = blocking;
        NcclApi.getUniqueId(id);
    }

    /** Memory that lives as long as the test's process. */
    static long room(long bytes) {
        return Arena.global().allocate(bytes, 8).address();
    }

    /** A communicator in this state, as {@link StateTableTest}'s tables name them. */
    static Subject in(String state, boolean blocking) throws InterruptedException {
        Subject subject = new Subject(blocking);
        switch (state) {
            case "null" -> {}
            case "bogus" -> subject.handle = NOT_A_HANDLE;
            case "init" -> subject.beginInit();
            case "broken" -> subject.failInit();
            default -> {
                subject.init();
                subject.live(state);
            }
        }
        return subject;
    }

    long handle() {
        return handle;
    }

    private void beginInit() throws InterruptedException {
        long out = room(8);
        if (blocking) {
            run(() -> NcclApi.commInitRankConfig(out, 2, id, 0, 0));
            until(() -> Memory.getLongAcquire(out) != 0);
        } else {
            expect(NcclResult.IN_PROGRESS, NcclApi.commInitRankConfig(out, 2, id, 0, config()));
        }
        handle = Memory.getLong(out);
    }

    private void init() throws InterruptedException {
        long out = room(16);
        NcclApi.commInitRankConfig(out, 2, id, 1, config());
        peer = Memory.getLong(out);
        NcclApi.commInitRankConfig(out + 8, 2, id, 0, blocking ? 0 : config());
        handle = Memory.getLong(out + 8);
        until(() -> state(peer) == 0 && state(handle) == 0);
    }

    private void failInit() throws InterruptedException {
        long out = room(16);
        NcclApi.commInitRankConfig(out, 2, id, 0, config());
        NcclApi.commInitRankConfig(out + 8, 2, id, 0, config());
        handle = Memory.getLong(out);
        others.add(Memory.getLong(out + 8));
        until(() -> state(handle) != NcclResult.IN_PROGRESS.code());
    }

    private void live(String state) throws InterruptedException {
        switch (state) {
            case "ready" -> {}
            case "destroyed" -> expect(NcclResult.SUCCESS, NcclApi.commDestroy(handle));
            case "aborted" -> expect(NcclResult.SUCCESS, NcclApi.commAbort(handle));
            case "split" -> begin("Split", NcclResult.SUCCESS);
            case "busy" -> begin("AllReduce", NcclResult.IN_PROGRESS);
            case "lost" -> {
                expect(NcclResult.SUCCESS, NcclApi.commAbort(peer));
                until(() -> state(handle) == NcclResult.REMOTE_ERROR.code());
            }
            case "late" -> {
                expect(NcclResult.SUCCESS, NcclApi.commTimeout(handle, 20));
                begin("AllReduce", NcclResult.IN_PROGRESS);
                until(() -> state(handle) == NcclResult.TIMEOUT.code());
            }
            case "stopped" -> {
                begin("AllReduce", NcclResult.IN_PROGRESS);
                expect(NcclResult.SUCCESS, NcclApi.commInterrupt(handle));
                until(() -> state() != NcclResult.SUCCESS && state() != NcclResult.IN_PROGRESS);
            }
            case "dropped" -> {
                NcclApi.groupStart();
                expect(NcclResult.SUCCESS, make("AllReduce", 0));
                int code = NcclApi.allReduce(DATA, DATA, 4, -1, SUM, handle, 0);
                expect(NcclResult.INVALID_ARGUMENT, code);
                expect(NcclResult.INVALID_ARGUMENT, NcclApi.groupEnd());
            }
            case "finishing" -> {
                begin("AllReduce", NcclResult.IN_PROGRESS);
                begin("Finalize", NcclResult.IN_PROGRESS);
            }
            case "final" -> expect(NcclResult.SUCCESS, NcclApi.commFinalize(handle));
            default -> throw new IllegalArgumentException(state);
        }
    }

    /** Lets what is under way end in this way. */
    void end(String how) {
        int code =
                switch (how) {
                    case "lost" -> NcclApi.commAbort(peer);
                    case "late" -> NcclApi.commTimeout(handle, 20);
                    case "stopped" -> NcclApi.commInterrupt(handle);
                    case "gone" -> NcclApi.commAbort(handle);
                    default -> throw new IllegalArgumentException(how);
                };
        expect(NcclResult.SUCCESS, code);
    }

    /** Makes a call that the peer does not join; a blocking one on a thread of its own. */
    private void begin(String call, NcclResult expected) throws InterruptedException {
        long out = room(8);
        if (!blocking) {
            expect(expected, make(call, out));
            return;
        }
        run(() -> make(call, out));
        var comm = Handles.get(handle, call);
        switch (call) {
            case "Split" -> until(() -> state(handle) == NcclResult.IN_PROGRESS.code());
            case "Finalize" -> until(() -> comm.state() == CommState.FINALIZED);
            default -> until(() -> comm.executor().busy() || comm.failure() != null);
        }
    }

    /** Calls a function; queries and split write their result to {@code out}. */
    int make(String call, long out) {
        long in = DATA;
        return switch (call) {
            case "AllReduce" -> NcclApi.allReduce(in, in, 4, FLOAT32, SUM, handle, 0);
            case "Broadcast" -> NcclApi.broadcast(in, in, 4, FLOAT32, 1, handle, 0);
            case "Bcast" -> NcclApi.broadcast(in, in, 4, FLOAT32, 1, handle, 0);
            case "AllGather" -> NcclApi.allGather(in, in, 4, FLOAT32, handle, 0);
            case "ReduceScatter" -> NcclApi.reduceScatter(in, in, 4, FLOAT32, SUM, handle, 0);
            case "Reduce" -> NcclApi.reduce(in, in, 4, FLOAT32, SUM, 0, handle, 0);
            case "AlltoAll" -> NcclApi.allToAll(in, in, 4, FLOAT32, handle, 0);
            case "Gather" -> NcclApi.gather(in, in, 4, FLOAT32, 0, handle, 0);
            case "Scatter" -> NcclApi.scatter(in, in, 4, FLOAT32, 1, handle, 0);
            case "Send" -> NcclApi.send(in, COUNT, FLOAT32, 1, handle, 0);
            case "Recv" -> NcclApi.recv(in, COUNT, FLOAT32, 1, handle, 0);
            case "InGroup" -> {
                NcclApi.groupStart();
                int code = make("AllReduce", out);
                // Ends the group and launches nothing.
                NcclApi.groupSimulateEnd(0);
                yield code;
            }
            case "GroupEnd" -> {
                NcclApi.groupStart();
                make("AllReduce", out);
                yield NcclApi.groupEnd();
            }
            case "Start" -> NcclApi.start(ALL_REDUCE, in, in, 4, FLOAT32, SUM, 0, handle, 0, out);
            case "StartComposed" -> NcclApi.startComposed(composedAllReduce(), 10, handle, 0, out);
            case "Options" -> NcclApi.commTimeout(handle, 0);
            case "Poll" -> NcclApi.poll(handle, 77, 0);
            case "Stats" -> NcclApi.commStats(handle, out, 1);
            case "Interrupt" -> NcclApi.commInterrupt(handle);
            case "Split" -> split(out);
            case "Finalize" -> NcclApi.commFinalize(handle);
            case "Destroy" -> NcclApi.commDestroy(handle);
            case "Abort" -> NcclApi.commAbort(handle);
            case "GetAsyncError" -> NcclApi.commGetAsyncError(handle, out);
            case "Count" -> NcclApi.commCount(handle, out);
            case "CuDevice" -> NcclApi.commCuDevice(handle, out);
            case "UserRank" -> NcclApi.commUserRank(handle, out);
            default -> throw new IllegalArgumentException(call);
        };
    }

    private static long composedAllReduce() {
        long words = room(80);
        long[] call = {ALL_REDUCE, DATA, DATA, 4, FLOAT32, SUM, 0, 0, 0, 0};
        for (int i = 0; i < call.length; i++) {
            Memory.putLong(words + 8L * i, call[i]);
        }
        return words;
    }

    private int split(long out) {
        int code = NcclApi.commSplit(handle, 0, 0, out, 0);
        long child = Memory.getLong(out);
        if (child != 0) {
            synchronized (others) {
                others.add(child);
            }
        }
        return code;
    }

    /** The peer makes the operation of {@link #make}; then both communicators are at rest. */
    void peerJoinsAllReduce() throws InterruptedException {
        int code = NcclApi.allReduce(DATA, DATA, 4, FLOAT32, SUM, peer, 0);
        if (code != 0) {
            expect(NcclResult.IN_PROGRESS, code);
        }
        until(() -> state(peer) == 0 && state(handle) == 0);
    }

    /** The state that ncclCommGetAsyncError finds. */
    NcclResult state() {
        return NcclResult.of(state(handle));
    }

    /** The same, or why it cannot be asked for. */
    NcclResult asyncState() {
        long out = room(4);
        int code = NcclApi.commGetAsyncError(handle, out);
        return NcclResult.of(code == 0 ? Memory.getInt(out) : code);
    }

    /** Destroy waits some time for operations: the peer's end makes that short. */
    void peerGoesSoon() {
        if (peer != 0) {
            run(() -> NcclApi.commAbort(peer));
        }
    }

    private void run(Runnable call) {
        threads.add(Thread.ofPlatform().daemon().start(call));
    }

    private static int state(long handle) {
        long out = room(4);
        NcclApi.commGetAsyncError(handle, out);
        return Memory.getInt(out);
    }

    private static void until(BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + LIMIT_NS;
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - end > 0) {
                throw new AssertionError("the state does not come");
            }
            Thread.sleep(1);
        }
    }

    private static void expect(NcclResult expected, int code) {
        if (code != expected.code()) {
            throw new AssertionError("expected " + expected + ", got " + NcclResult.of(code));
        }
    }

    private static long config() {
        long config = room(120);
        for (int offset = 0; offset < 120; offset += 4) {
            Memory.putInt(config + offset, Integer.MIN_VALUE);
        }
        Memory.putLong(config, 120);
        Memory.putInt(config + 8, 0xcafebeef);
        Memory.putInt(config + 12, 23203);
        Memory.putInt(config + 16, 0);
        Memory.putLong(config + 32, 0);
        Memory.putLong(config + 48, 0);
        return config;
    }

    /** Aborts whatever is left; every thread must then return. */
    @Override
    public void close() {
        abort(handle);
        abort(peer);
        for (Thread thread : threads) {
            if (!ended(thread)) {
                throw new AssertionError("abort does not free " + thread);
            }
        }
        synchronized (others) {
            others.forEach(Subject::abort);
        }
    }

    private static boolean ended(Thread thread) {
        try {
            return thread.join(Duration.ofNanos(LIMIT_NS));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private static void abort(long handle) {
        try {
            Handles.get(handle, "Abort");
        } catch (NcclException gone) {
            return;
        }
        NcclApi.commAbort(handle);
    }
}
