package org.jccl.abi;

import org.jccl.call.Call;
import org.jccl.comm.Comm;
import org.jccl.comm.Operations;
import org.jccl.group.Group;
import org.jccl.group.Launch;
import org.jccl.group.Pending;
import org.jccl.log.LastError;
import org.jccl.log.Log;
import org.jccl.platform.Memory;
import org.jccl.progress.Completions;
import org.jccl.reduce.Warmup;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.Version;

import java.util.function.ToIntFunction;

/**
 * The functions of {@code nccl.h} and {@code jccl.h} that are done and need Java, for callers that
 * have numbers and addresses: C through JNI, and Python hosts. Arguments are C's: handles and
 * pointers as long, everything else as int or long. A method for a C function returns a value of
 * {@code ncclResult_t}. It throws only when memory or stack is too short to report a failure; the
 * bridge makes a code of that, too. {@link LastError} has the sentence for an error.
 */
public final class NcclApi {
    private static final int SUCCESS = NcclResult.SUCCESS.code();

    private NcclApi() {}

    /** JCCL's version, which the C library compares with its own. */
    public static String versionString() {
        return Version.text();
    }

    /**
     * Makes Java leave all communicators in good order at its end, if somebody else has started it.
     */
    public static int endWithHost() {
        return Answer.done(0, Extras::endWithHost);
    }

    /** Offers the table of a C library; answers the one that it is to use. */
    public static long shareFailures(long table) {
        return LastError.share(table);
    }

    /**
     * Writes a 0-terminated sentence of the C library to the log and the last error. If this
     * throws, for want of memory perhaps, C keeps the sentence itself.
     */
    public static void warn(long text) {
        String sentence = Memory.string(text);
        Log.warn(sentence);
        LastError.setForThread(sentence);
    }

    /** Opens a group on this thread. */
    public static int groupStart() {
        return Answer.done(0, () -> Group.current().start());
    }

    /** Closes a group; the outermost end launches it, and waits if its communicators block. */
    public static int groupEnd() {
        return Answer.told(
                () -> {
                    Launch launch = Group.current().end();
                    if (launch == null) {
                        return NcclResult.SUCCESS;
                    }
                    if (launch.blocking()) {
                        return Parking.current().await(launch);
                    }
                    return launch.look() ? launch.result() : launch.leave();
                });
    }

    /** Not done yet; see DIFFERENCES.md. */
    public static int groupSimulateEnd(long simInfo) {
        return Answer.of(
                0,
                () -> {
                    NcclException why =
                            ErrorKind.NOT_DONE_YET.says(
                                    "%s is not done yet in JCCL %s; see DIFFERENCES.md",
                                    "ncclGroupSimulateEnd", Version.text());
                    Group.current().remember(why);
                    Group.current().end();
                    throw why;
                });
    }

    /**
     * ncclAllReduce and all other operations. C calls it by a pointer, too, which no exception may
     * leave: this method throws nothing.
     *
     * @param operation its number in {@code jccl.h}, {@code jcclAllReduce} for example
     * @param send the address of its input, 0 for a receive
     * @param recv the address of its output, 0 for a send
     * @param count the elements of a part
     * @param type a value of {@code ncclDataType_t}
     * @param reduction a value of {@code ncclRedOp_t}; means nothing to what does not reduce
     * @param rootOrPeer likewise for what has no root and no peer
     * @return also {@link Answer#NO_MEMORY}, {@link Answer#NO_STACK} or {@link Answer#NOT_KNOWN}
     */
    public static int operation(
            int operation,
            long send,
            long recv,
            long count,
            int type,
            int reduction,
            int rootOrPeer,
            long comm,
            long stream) {
        try {
            Comm of = Handles.get(comm, operation);
            Call call = Group.call(operation).buffers(send, recv).elements(count, type);
            call.reducedBy(reduction).with(rootOrPeer).inStream(stream);
            Pending pending = Operations.run(of, call);
            return pending == null ? SUCCESS : Parking.awaitOrLeave(of, pending).code();
        } catch (Throwable t) {
            return Answer.ofOperation(comm, t);
        }
    }

    /** Makes the pointer by which C calls {@link #operation}; later stores it there. */
    public static void makeStub(long place) {
        Stub.make(place);
    }

    /** ncclRedOpCreatePreMulSum. */
    public static int redOpCreatePreMulSum(
            long op, long scalar, int type, int residence, long comm) {
        return Answer.done(
                comm, () -> Resources.createPreMulSum(op, scalar, type, residence, comm));
    }

    /** ncclRedOpDestroy. */
    public static int redOpDestroy(int op, long comm) {
        return Answer.done(comm, () -> Handles.get(comm, "RedOpDestroy").customOps().destroy(op));
    }

    /** ncclMemAlloc: zeroed pages of host memory. */
    public static int memAlloc(long out, long bytes) {
        return Answer.done(0, () -> Resources.memAlloc(out, bytes));
    }

    /** ncclMemFree. */
    public static int memFree(long address) {
        return Answer.done(0, () -> Resources.memFree(address));
    }

    /** ncclGetUniqueId: writes 128 bytes. */
    public static int getUniqueId(long id) {
        return Answer.done(0, () -> LifeCycle.getUniqueId(id));
    }

    /** ncclCommInitRankConfig, and ncclCommInitRank, which has no {@code config}. */
    public static int commInitRankConfig(long commOut, int nRanks, long id, int rank, long config) {
        return Answer.of(0, () -> LifeCycle.initRank(commOut, nRanks, id, rank, config));
    }

    /** ncclCommInitRankScalable; the first id serves all ranks. */
    public static int commInitRankScalable(
            long commOut, int nRanks, int rank, int nId, long ids, long config) {
        return Answer.of(
                0,
                () -> {
                    LifeCycle.requireIds(nRanks, nId);
                    return LifeCycle.initRank(commOut, nRanks, ids, rank, config);
                });
    }

    /** ncclCommInitAll: all ranks in this process. */
    public static int commInitAll(long comms, int nDev, long devList) {
        return Answer.of(0, () -> LifeCycle.initAll(comms, nDev, devList));
    }

    /** ncclCommSplit; the child's handle is written before this returns. */
    public static int commSplit(long comm, int color, int key, long newComm, long config) {
        return Answer.of(comm, () -> LifeCycle.split(comm, color, key, newComm, config));
    }

    /** ncclCommFinalize. */
    public static int commFinalize(long comm) {
        return Answer.of(comm, () -> LifeCycle.finish(comm));
    }

    /** ncclCommDestroy. */
    public static int commDestroy(long comm) {
        return LifeCycle.end(comm, false);
    }

    /** ncclCommAbort. */
    public static int commAbort(long comm) {
        return LifeCycle.end(comm, true);
    }

    /** ncclCommGetAsyncError. */
    public static int commGetAsyncError(long comm, long out) {
        return Answer.done(
                comm,
                () -> {
                    Comm found = Handles.get(comm, "CommGetAsyncError");
                    Checked.pointer("CommGetAsyncError", "asyncError", out);
                    NcclResult result = found.asyncError();
                    NcclException why = found.failure();
                    if (why != null) {
                        String said = String.valueOf(why.on(found.identity()).getMessage());
                        LastError.setForThread(said);
                    }
                    Memory.putInt(out, result.code());
                });
    }

    /** ncclCommCount. */
    public static int commCount(long comm, long out) {
        return query(comm, out, "CommCount", Comm::nRanks);
    }

    /** ncclCommCuDevice: the device's number, -1 on the host. */
    public static int commCuDevice(long comm, long out) {
        return query(comm, out, "CommCuDevice", Comm::deviceNumber);
    }

    /** ncclCommUserRank. */
    public static int commUserRank(long comm, long out) {
        return query(comm, out, "CommUserRank", Comm::rank);
    }

    private static int query(long comm, long out, String function, ToIntFunction<Comm> value) {
        return Answer.done(
                comm,
                () -> {
                    Comm found = Handles.get(comm, function);
                    Checked.pointer(function, "result", out);
                    found.ensureQueryable();
                    Memory.putInt(out, value.applyAsInt(found));
                });
    }

    /** jcclSliced: the address of the slice of this thread's blocking calls, 0 for none. */
    public static int sliced(long slice) {
        return Answer.done(0, () -> Parking.current().slice(slice));
    }

    /** jcclResume: goes on with this thread's parked call. */
    public static int resume() {
        return Answer.told(() -> Parking.current().resume());
    }

    /** jcclInterrupt: ends this thread's parked call and revokes its communicators. */
    public static int interrupt() {
        return Answer.told(() -> Parking.current().interrupt());
    }

    /** jcclCommInterrupt: revokes a communicator because its user was interrupted. */
    public static int commInterrupt(long comm) {
        return Answer.done(comm, () -> Handles.get(comm, "CommInterrupt").interrupt());
    }

    /** jcclCommDrop: a garbage collector has found a communicator that nobody has destroyed. */
    public static int commDrop(long comm) {
        return LifeCycle.drop(comm);
    }

    /** jcclStart: starts an operation, and waits for its end for {@code ms} at most. */
    public static int start(
            int operation,
            long send,
            long recv,
            long count,
            int type,
            int redOp,
            int rootOrPeer,
            long comm,
            int ms,
            long ticketOut) {
        try {
            Call call =
                    Group.call(Started.operation("Start", operation).number()).buffers(send, recv);
            call.elements(count, type).reducedBy(redOp).with(rootOrPeer);
            return Started.start(call, comm, ms, ticketOut).code();
        } catch (Throwable t) {
            return Answer.refused(comm, t);
        }
    }

    /** jcclStartComposed: starts one with copies before and after, or of sends and receives. */
    public static int startComposed(long words, long n, long comm, int ms, long ticketOut) {
        return Answer.of(
                comm, () -> Started.start(new ComposedCall(words, n), comm, ms, ticketOut));
    }

    /**
     * jcclPoll: lends this thread to a started operation for at most {@code ms}; with less than 0
     * it looks, and has the end counted. It is called often and makes no object, as a lambda would.
     */
    public static int poll(long comm, long ticket, int ms) {
        try {
            return Started.poll(comm, ticket, ms).code();
        } catch (Throwable t) {
            return Answer.failed(t);
        }
    }

    /** jcclAbandonGroup: the open group's end launches nothing. */
    public static int abandonGroup() {
        return Answer.done(
                0,
                () ->
                        Group.current()
                                .remember(
                                        ErrorKind.GROUP_ABANDONED.says(
                                                "the body of a group threw an exception, so that"
                                                        + " nothing of the group was launched")));
    }

    /**
     * jcclWaitCompletion: waits until the count of ends of operations that are to be counted
     * changes.
     */
    public static int waitCompletion(long seen, int ms, long now) {
        return Answer.done(
                0,
                () -> {
                    Checked.pointer("WaitCompletion", "now", now);
                    Memory.putLong(now, Completions.await(seen, ms));
                });
    }

    /** jcclCommOptions: the time limit of operations in milliseconds, 0 for none. */
    public static int commTimeout(long comm, long timeoutMs) {
        return Answer.done(comm, () -> Extras.timeout(comm, timeoutMs));
    }

    /** jcclCommStats: counters, laid out as in jccl.h. */
    public static int commStats(long comm, long out, int n) {
        return Answer.done(comm, () -> Extras.stats(comm, out, n));
    }

    /** jcclWarm: waits until the kernels are compiled, for {@code ms} at most. */
    public static int warm(int ms) {
        return Answer.done(
                0,
                () -> {
                    Warmup.start();
                    Warmup.await(ms);
                });
    }

    /** jcclShutdown: leaves all communicators in good order, at the end of the process. */
    public static int shutdown() {
        return Answer.done(0, Extras::shutdown);
    }
}
