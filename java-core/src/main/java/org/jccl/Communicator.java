package org.jccl;

import org.jccl.bootstrap.Rendezvous;
import org.jccl.call.Call;
import org.jccl.comm.Comm;
import org.jccl.comm.Creation;
import org.jccl.comm.Operations;
import org.jccl.device.Devices;
import org.jccl.executor.Task;
import org.jccl.group.Pending;
import org.jccl.launch.IdExchange;
import org.jccl.launch.LaunchedRank;
import org.jccl.param.Params;
import org.jccl.type.DataType;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclConfig;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.PreMulSum;
import org.jccl.type.Unforeseen;
import org.jccl.type.UniqueId;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * One rank's membership in a group of ranks that call the same operations in the same order. Any
 * thread may call any method; the calls of one communicator keep one order, which is the same on
 * every rank. This is true of all operations:
 *
 * <p><b>When they are done.</b> On a blocking communicator, the default, a method returns when its
 * operation is complete on this rank. On another one it queues the operation, and {@link
 * #asyncError} tells when everything is done. On a device ({@link Config#withDevice}) it returns
 * once the operation is in its {@link Stream}, the default one unless it is called {@link
 * #inStream}: synchronize that, then look at {@link #asyncError}. Between {@link Group#start} and
 * {@link Group#end} methods only note what is to be done.
 *
 * <p><b>Buffers.</b> A buffer is a native memory segment at any address; on a device, a segment at
 * an address of its memory. It holds at least the elements that its parameter names, and stays
 * alive until the operation is done. Counts are numbers of elements, never bytes; a count of 0 is
 * allowed, and then no buffer is looked at. All ranks pass the same count and type. Two buffers of
 * one call must not overlap, except in place, as each parameter defines it.
 *
 * <p><b>Order of reduction.</b> Within a node elements are combined in the order of ranks.
 * All-reduces and reduce-scatters of more than 16 KiB between several nodes, and all-reduces where
 * a rank has 4 or more ranks on other nodes, combine the ranks of each node first, then the nodes
 * in the order of their first ranks. {@code JCCL_DETERMINISTIC=rank} keeps the order of ranks
 * everywhere. Floats of 16 and 8 bits are combined in float32 and rounded once for each node. The
 * average is the sum divided by the number of ranks; integers wrap around, and their average rounds
 * toward zero. With maximum and minimum NaN wins, and -0 is less than +0. {@code DIFFERENCES.md}
 * has the details.
 *
 * <p><b>Errors.</b> Every method may throw an {@link NcclException}. Its result is the code of
 * {@code nccl.h}; its kind is an entry of {@code docs/errors.md} under the same name, such as
 * {@code docs/errors.md#buffer_too_small}.
 *
 * <ul>
 *   <li>INVALID_ARGUMENT: an argument is wrong, and nothing has happened: NULL_ARGUMENT,
 *       TYPE_UNKNOWN, REDUCTION_UNKNOWN, REDUCTION_ENDED, REDUCTION_TYPE, ROOT_OR_PEER,
 *       COUNT_UNFIT, COUNT_OVERFLOW, BUFFER_TOO_SMALL, BUFFER_ON_HEAP, BUFFER_READ_ONLY,
 *       BUFFER_KIND, BUFFERS_OVERLAP, ARENA_CLOSED, ARENA_OF_ANOTHER, STREAM_NOT_NULL,
 *       STREAM_UNKNOWN; or the communicator takes no calls: NOT_READY, ALREADY_ENDED.
 *   <li>INVALID_USAGE: ranks called differently (CALLED_DIFFERENTLY, UNMATCHED), or the call is
 *       more than JCCL can do: TOO_LARGE, TOO_MANY_RANKS, TOO_MANY_PENDING, TOO_MUCH_STAGED.
 *   <li>REMOTE_ERROR: a rank that the operation needs has died (LOST), left (LEFT), aborted
 *       (ABORTED) or failed (REPORTED, which has INVALID_USAGE if the ranks called differently);
 *       another operation of the same group has failed (GROUP_FAILED); or somebody interrupted a
 *       thread that waited (INTERRUPTED).
 *   <li>TIMEOUT: a time limit has passed (LATE).
 *   <li>SYSTEM_ERROR: the system refuses something: SYSTEM_CALL, NO_MEMORY, NO_STACK, UNREADABLE,
 *       BUFFER_UNREADABLE.
 *   <li>UNHANDLED_CUDA_ERROR: a device has failed (DEVICE_FAILED).
 * </ul>
 *
 * <p>After REMOTE_ERROR, TIMEOUT, CALLED_DIFFERENTLY and UNMATCHED only {@link #close} and {@link
 * #abort} are of use.
 *
 * <p><b>Interrupts.</b> {@link Thread#interrupt} ends the wait of a method within a third of a
 * second: the method throws INTERRUPTED, and the thread stays interrupted. This ends the
 * communicator on all ranks, since a part of the operation has been done; other communicators,
 * their connections and threads are not affected. {@link #awaitReady} and futures are waits that
 * end alone. {@link #close} waits as it says, and leaves the interrupt to its caller.
 *
 * <p><b>Virtual threads</b> may call everything. A wait parks them, and a stream thread goes on
 * with the operation.
 *
 * <p>A communicator that is garbage-collected before {@link #close} or {@link #abort} is ended in
 * the background, with a line in the log; its peers learn that this rank has left.
 */
public final class Communicator extends Collectives implements AutoCloseable {
    /** The colour of a rank that joins no child of {@link #split}. */
    public static final int NOCOLOR = Creation.NOCOLOR;

    private static final long POLL_NS = 100_000;

    /** Made with the class: later there may be no thread to be had. */
    private static final Lost LOST = new Lost();

    private final Comm comm;

    private Communicator(Comm comm) {
        this.comm = comm;
        LOST.watch(this, comm);
    }

    /**
     * A new unique id. Its 128 bytes hold a secret; carry them to all ranks over a channel that you
     * trust. The process that makes it must live until all ranks have been initialised.
     */
    public static UniqueId uniqueId() {
        return Rendezvous.createId();
    }

    /**
     * Makes a communicator with the default configuration; returns when all ranks have come.
     *
     * @see #initRank(int, UniqueId, int, Config)
     */
    public static Communicator initRank(int nRanks, UniqueId id, int rank) {
        return initRank(nRanks, id, rank, Config.DEFAULT);
    }

    /**
     * Makes a communicator of all ranks that call this with one id.
     *
     * @param nRanks how many ranks there are, from 1 to 65,536
     * @param id what one rank got from {@link #uniqueId}; it makes one communicator only
     * @param rank this rank's number, from 0 to {@code nRanks - 1}
     * @param config how the communicator behaves. If it does not block, this returns at once, and
     *     {@link #awaitReady} waits for the other ranks
     * @throws NcclException INVALID_ARGUMENT for a wrong argument (NULL_ARGUMENT, RANK_OUTSIDE,
     *     RANK_COUNT, ID_FOREIGN, ID_DAMAGED, DEVICE_UNKNOWN); INVALID_USAGE if the ranks do not
     *     fit together or the id was used before (RANKS_DISAGREE, ID_USED); TIMEOUT if not all have
     *     come within {@code JCCL_INIT_TIMEOUT} (INIT_TIMEOUT); REMOTE_ERROR if a rank has gone
     *     meanwhile (ROOT_GONE, RANK_LEFT_INIT, PEER_ENDED_INIT)
     */
    public static Communicator initRank(int nRanks, UniqueId id, int rank, Config config) {
        try {
            Doors.given("CommInitRank of rank " + rank, "commId", id);
            Doors.given("CommInitRank of rank " + rank, "config", config);
            Creation creation = Creation.init(id, nRanks, rank, config.resolved);
            begin(creation, creation.blocking());
            return new Communicator(creation.comm());
        } catch (NcclException e) {
            throw Doors.remember(e);
        }
    }

    /**
     * Makes all ranks of a new communicator in this process, for one thread that drives them in
     * groups.
     *
     * @param nRanks how many ranks there are, at least 1. If {@code JCCL_DEVICE} names a kind of
     *     device, each rank has the one with its own number
     * @return the ranks in their order
     * @throws NcclException INVALID_ARGUMENT for less than one (RANK_COUNT); else as of {@link
     *     #initRank(int, UniqueId, int, Config)}
     */
    public static List<Communicator> initAll(int nRanks) {
        if (nRanks < 1) {
            throw Doors.remember(
                    ErrorKind.RANK_COUNT.says("CommInitAll : nRanks %s must be positive", nRanks));
        }
        UniqueId id = uniqueId();
        List<Communicator> all = new ArrayList<>();
        try {
            Group.run(
                    () -> {
                        for (int rank = 0; rank < nRanks; rank++) {
                            String device = Devices.numbered(Params.DEVICE.text(), rank);
                            NcclConfig config = NcclConfig.DEFAULT.withDevice(device);
                            all.add(initRank(nRanks, id, rank, new Config(config)));
                        }
                    });
        } catch (RuntimeException | Error e) {
            all.forEach(Communicator::abort);
            throw e;
        }
        return List.copyOf(all);
    }

    /**
     * Makes a communicator of all ranks of a job with the default configuration.
     *
     * @see #fromEnvironment(Config)
     */
    public static Communicator fromEnvironment() {
        return fromEnvironment(Config.DEFAULT);
    }

    /**
     * Makes a communicator of all ranks that {@code python -m jccl.run}, torchrun or another
     * launcher has started, whatever language they are in. RANK and WORLD_SIZE say which of how
     * many this is. The ranks share an id through the launcher; where that cannot hand one on, by
     * NCCL_COMM_ID, or by MASTER_ADDR and MASTER_PORT, where rank 0 then listens as if NCCL_COMM_ID
     * named them. On devices, LOCAL_RANK, if it is set, is the number of this rank's.
     *
     * <p>All ranks call this, equally often. It waits in the launcher's store for at most {@code
     * JCCL_INIT_TIMEOUT}, also if the communicator does not block.
     *
     * @throws NcclException INVALID_USAGE if a variable is missing or cannot be used
     *     (VARIABLE_MISSING, VARIABLE_UNFIT), or the address needs a secret (SECRET_MISSING);
     *     REMOTE_ERROR or TIMEOUT if the launcher does not answer (STORE_FAILED, STORE_SILENT), or
     *     the thread is interrupted meanwhile (INTERRUPTED); otherwise as of {@link #initRank(int,
     *     UniqueId, int, Config)}
     */
    public static Communicator fromEnvironment(Config config) {
        Doors.given("CommInitRank", "config", config);
        LaunchedRank launched = LaunchedRank.fromEnvironment();
        String device = config.resolved.device();
        device = device == null ? Params.DEVICE.text() : device;
        int local = launched.localRank();
        String own = local < 0 ? device : Devices.numbered(device, local);
        Config placed = new Config(config.resolved.withDevice(own));
        UniqueId id = IdExchange.id(launched);
        return initRank(launched.nRanks(), id, launched.rank(), placed);
    }

    private static void begin(Creation creation, boolean blocking) {
        org.jccl.group.Group group = org.jccl.group.Group.current();
        if (group.open()) {
            group.add(creation);
        } else if (blocking) {
            Slices.await(creation);
        } else {
            creation.start();
        }
    }

    /**
     * Divides this communicator into children with its own configuration.
     *
     * @see #split(int, int, Config)
     */
    public @Nullable Communicator split(int color, int key) {
        return split(color, key, null);
    }

    /**
     * Divides this communicator into children: the ranks of one colour are a child. All ranks call
     * this. If this communicator does not block, the child is there at once, and both may be
     * polled.
     *
     * @param color which child this rank joins, 0 or more; {@link #NOCOLOR} for none
     * @param key where in the child: its ranks are ordered by key and, where keys are equal, by
     *     their ranks here
     * @param config the child's configuration, or null for the parent's
     * @return the child, or null for NOCOLOR
     * @throws NcclException INVALID_ARGUMENT for another negative colour (SPLIT_COLOR), or while
     *     something is in progress (NOT_READY); otherwise as of init
     */
    public @Nullable Communicator split(int color, int key, @Nullable Config config) {
        NcclConfig resolved = config == null ? null : config.resolved;
        try {
            Creation creation = Creation.split(comm, color, key, resolved);
            begin(creation, comm.blocking());
            return color == NOCOLOR ? null : new Communicator(creation.comm());
        } catch (NcclException e) {
            throw named(e);
        } finally {
            Doors.keep(this, null, null);
        }
    }

    /** The same operations in a stream of the communicator's device. */
    public Collectives inStream(Stream stream) {
        return new Collectives() {
            @Override
            void run(Call call, @Nullable MemorySegment send, @Nullable MemorySegment recv) {
                Communicator.this.run(call, send, recv, stream);
            }

            @Override
            CompletableFuture<@Nullable Void> start(
                    Call call, @Nullable MemorySegment send, @Nullable MemorySegment recv) {
                return Communicator.this.start(call, send, recv, stream);
            }
        };
    }

    @Override
    void run(Call call, @Nullable MemorySegment send, @Nullable MemorySegment recv) {
        run(call, send, recv, Stream.DEFAULT);
    }

    @Override
    CompletableFuture<@Nullable Void> start(
            Call call, @Nullable MemorySegment send, @Nullable MemorySegment recv) {
        return start(call, send, recv, Stream.DEFAULT);
    }

    void run(Call call, @Nullable MemorySegment send, @Nullable MemorySegment recv, Stream stream) {
        try {
            check(call, send, recv, stream);
            Pending pending = Operations.begin(comm, call);
            if (pending != null && !comm.blocking()) {
                pending.keep(Arrays.asList(this, send, recv));
            }
            finish(pending);
        } catch (NcclException | OutOfMemoryError e) {
            throw named(e);
        } finally {
            Doors.keep(this, send, recv);
        }
    }

    /** What the caller gets, and an open group. */
    private NcclException named(Throwable failure) {
        return Doors.remember(Unforeseen.of(failure, "in a call").on(comm.identity()));
    }

    private void check(
            Call call, @Nullable MemorySegment send, @Nullable MemorySegment recv, Stream stream) {
        String function = call.operation().ncclName();
        Doors.given(function, "datatype", call.typeNumber() == ABSENT ? null : call);
        Doors.given(function, "stream", stream);
        Doors.given(function, "op", call.redOp() == ABSENT ? null : call);
        Operations.numbers(comm, call.inStream(stream.handle()));
        long in = Doors.address(comm, call, send, true);
        Operations.buffers(comm, call.buffers(in, Doors.address(comm, call, recv, false)));
    }

    private CompletableFuture<@Nullable Void> start(
            Call call, @Nullable MemorySegment send, @Nullable MemorySegment recv, Stream stream) {
        try {
            Doors.requireNoGroup(call);
            check(call, send, recv, stream);
            Task task = Operations.task(comm, call);
            Completion completion = new Completion(task, comm.identity(), this, send, recv);
            Operations.start(comm, task);
            return completion.handOut();
        } catch (NcclException | OutOfMemoryError e) {
            NcclException named = named(e);
            if (named.result() == NcclResult.INVALID_ARGUMENT) {
                throw named;
            }
            return CompletableFuture.failedFuture(named);
        } finally {
            Doors.keep(this, send, recv);
        }
    }

    private void finish(@Nullable Pending pending) {
        if (pending == null) {
            return;
        }
        if (comm.blocking()) {
            Slices.await(pending);
        } else {
            comm.leave();
        }
    }

    /**
     * Makes a sum whose input each rank first multiplies by a factor of its own. It serves
     * operations of this communicator on elements of this type; factors may differ between ranks.
     * Products are rounded to the type, and integers wrap around.
     *
     * @param factor one element, in any memory; it is read now
     * @param type the type of the factor and of the elements
     * @return the reduction; close it after the last call that uses it
     * @throws NcclException INVALID_ARGUMENT if the segment is shorter than an element
     *     (BUFFER_TOO_SMALL), its arena closed (ARENA_CLOSED) or another thread's
     *     (ARENA_OF_ANOTHER), or something is null (NULL_ARGUMENT); INVALID_USAGE for more than
     *     65,536 of a communicator that are not closed (TOO_MANY_PENDING)
     */
    public PreMulSum preMulSum(MemorySegment factor, DataType type) {
        try {
            comm.ensureReady();
            return comm.customOps().preMulSum(type, Doors.factor(factor, type), 0);
        } catch (NcclException e) {
            throw named(e);
        } finally {
            Doors.keep(this, factor, null);
        }
    }

    /** This rank's number, from 0. */
    public int rank() {
        comm.ensureQueryable();
        return comm.rank();
    }

    /** The number of the device that its buffers belong to, -1 for the host. */
    public int device() {
        comm.ensureQueryable();
        return comm.deviceNumber();
    }

    /** How many ranks there are. */
    public int count() {
        comm.ensureQueryable();
        return comm.nRanks();
    }

    /**
     * How the communicator stands: IN_PROGRESS while init or a split is under way, or an operation
     * of a communicator that does not block; then SUCCESS, or why it has failed; INVALID_ARGUMENT
     * after its end.
     */
    public NcclResult asyncError() {
        return comm.asyncError();
    }

    /**
     * Waits until {@link #asyncError} is no longer IN_PROGRESS.
     *
     * @param timeout the longest wait
     * @throws NcclException the error of a communicator that has failed; TIMEOUT if the time has
     *     passed (NOT_READY_IN_TIME), and REMOTE_ERROR if the thread is interrupted (INTERRUPTED),
     *     which both change nothing about the communicator
     */
    public void awaitReady(Duration timeout) {
        Doors.required("Communicator.awaitReady", "timeout", timeout);
        long since = System.nanoTime();
        long limitNs = TimeUnit.NANOSECONDS.convert(timeout);
        NcclResult result = comm.asyncError();
        while (result == NcclResult.IN_PROGRESS) {
            if (System.nanoTime() - since > limitNs) {
                throw ErrorKind.NOT_READY_IN_TIME.says(
                        "%s was not ready after %s ms", comm.identity(), timeout.toMillis());
            }
            if (Thread.currentThread().isInterrupted()) {
                throw ErrorKind.INTERRUPTED.says(
                        "the wait until %s is ready was interrupted; it goes on, and may be "
                                + "awaited again",
                        comm.identity());
            }
            LockSupport.parkNanos(POLL_NS);
            result = comm.asyncError();
        }
        Doors.keep(this, null, null);
        if (result != NcclResult.SUCCESS) {
            NcclException failure = comm.failure();
            if (failure != null) {
                throw failure.on(comm.identity());
            }
            // It has been destroyed meanwhile, which tells of no failure any more.
            comm.ensureReady();
        }
    }

    /** The counters of this rank on this communicator. */
    public Statistics stats() {
        return Statistics.of(comm.executor().counters());
    }

    /**
     * Waits until nothing is under way, or begins to, if it does not block. Afterwards only {@link
     * #close}, {@link #abort} and queries are allowed.
     *
     * @throws NcclException why the communicator has failed, or cannot be finalized now (NOT_READY,
     *     ALREADY_ENDED)
     */
    public void finalizeCommunicator() {
        try {
            finish(comm.finish());
        } catch (NcclException e) {
            throw named(e);
        } finally {
            Doors.keep(this, null, null);
        }
    }

    /**
     * Frees the communicator ({@code ncclCommDestroy}). This waits for operations that are under
     * way, at most 5 s. One that is still being made, or that is just being split, is aborted.
     * Closing again does nothing.
     */
    @Override
    public void close() {
        try {
            comm.destroy();
        } catch (NcclException e) {
            if (e.kind() != ErrorKind.NOT_READY) {
                throw e;
            }
            comm.abort();
        } finally {
            Doors.keep(this, null, null);
        }
    }

    /** Ends everything at once, whatever the state and whatever the peers do, and frees it. */
    public void abort() {
        comm.abort();
    }

    @Override
    public String toString() {
        return comm.identity();
    }
}
