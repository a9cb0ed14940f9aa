package org.jccl;

import org.jccl.call.Call;
import org.jccl.type.DataType;
import org.jccl.type.Reduction;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * The operations of {@link Collectives}, by methods that return at once. Each has a future that is
 * complete when the operation is, on any communicator; on a device, when the result is in the
 * buffer. Collectives run in the order of their calls, those of {@link Collectives} among them.
 * Sends and receives of two ranks match by their order; on the host they are in no order with
 * collectives: wait for the future first. On a device the stream orders everything.
 *
 * <pre>{@code
 * CompletableFuture<Void> first = comm.async().allReduce(a, a, n, DataType.FLOAT32, RedOp.SUM);
 * CompletableFuture<Void> second = comm.async().allReduce(b, b, n, DataType.FLOAT32, RedOp.SUM);
 * first.thenRun(() -> use(a));
 * CompletableFuture.allOf(first, second).join();
 * }</pre>
 *
 * <p><b>Buffers.</b> Until the future is complete the buffers are the operation's. It keeps those
 * from being freed that the garbage collector frees; those of an arena that is closed by its owner
 * must stay open.
 *
 * <p><b>Errors.</b> INVALID_ARGUMENT is thrown: nothing has happened. With every other error of the
 * blocking method the future completes; {@code join} and {@code get} throw it as the cause of their
 * exception.
 *
 * <p><b>Actions.</b> What is attached to a future ({@code thenRun} …) runs in a virtual thread of
 * its own, or at once if the future is complete. It may take its time and wait for other
 * operations.
 *
 * <p><b>Cancelling.</b> To cancel a future, or to complete it, ends the future alone: the operation
 * goes on, on all ranks, and the buffers are its own until then. A thread that is interrupted while
 * it waits for a future ends nothing either. {@link Communicator#abort} ends operations.
 *
 * <p>Inside of a {@link Group} these methods complete their future with INVALID_USAGE
 * (FUTURE_IN_GROUP), and the group fails with it: {@link Group#end} throws it, and starts nothing.
 * On the host they need none: a collective, or a transfer with another peer or in the other
 * direction, keeps no send or receive waiting. On a device a stream does its work one by one: a
 * send and a receive that are to run together need two streams, or a group and the methods that
 * return nothing.
 *
 * <p>Init and split have no futures: see {@link Config#withBlocking} and {@link
 * Communicator#awaitReady}.
 */
public final class AsyncCollectives {
    private final Collectives collectives;

    AsyncCollectives(Collectives collectives) {
        this.collectives = collectives;
    }

    /** Starts what {@link Collectives#allReduce} does. */
    public CompletableFuture<@Nullable Void> allReduce(
            MemorySegment send, MemorySegment recv, long count, DataType type, Reduction op) {
        return start(each -> each.allReduce(send, recv, count, type, op));
    }

    /** Starts what {@link Collectives#broadcast} does. */
    public CompletableFuture<@Nullable Void> broadcast(
            @Nullable MemorySegment send, MemorySegment recv, long count, DataType type, int root) {
        return start(each -> each.broadcast(send, recv, count, type, root));
    }

    /** Starts what {@link Collectives#allGather} does. */
    public CompletableFuture<@Nullable Void> allGather(
            MemorySegment send, MemorySegment recv, long sendCount, DataType type) {
        return start(each -> each.allGather(send, recv, sendCount, type));
    }

    /** Starts what {@link Collectives#reduceScatter} does. */
    public CompletableFuture<@Nullable Void> reduceScatter(
            MemorySegment send, MemorySegment recv, long recvCount, DataType type, Reduction op) {
        return start(each -> each.reduceScatter(send, recv, recvCount, type, op));
    }

    /** Starts what {@link Collectives#reduce} does. */
    public CompletableFuture<@Nullable Void> reduce(
            MemorySegment send,
            @Nullable MemorySegment recv,
            long count,
            DataType type,
            Reduction op,
            int root) {
        return start(each -> each.reduce(send, recv, count, type, op, root));
    }

    /** Starts what {@link Collectives#allToAll} does. */
    public CompletableFuture<@Nullable Void> allToAll(
            MemorySegment send, MemorySegment recv, long count, DataType type) {
        return start(each -> each.allToAll(send, recv, count, type));
    }

    /** Starts what {@link Collectives#gather} does. */
    public CompletableFuture<@Nullable Void> gather(
            MemorySegment send, @Nullable MemorySegment recv, long count, DataType type, int root) {
        return start(each -> each.gather(send, recv, count, type, root));
    }

    /** Starts what {@link Collectives#scatter} does. */
    public CompletableFuture<@Nullable Void> scatter(
            @Nullable MemorySegment send, MemorySegment recv, long count, DataType type, int root) {
        return start(each -> each.scatter(send, recv, count, type, root));
    }

    /** Starts what {@link Collectives#send} does. */
    public CompletableFuture<@Nullable Void> send(
            MemorySegment buffer, long count, DataType type, int peer) {
        return start(each -> each.send(buffer, count, type, peer));
    }

    /** Starts what {@link Collectives#recv} does. */
    public CompletableFuture<@Nullable Void> recv(
            MemorySegment buffer, long count, DataType type, int peer) {
        return start(each -> each.recv(buffer, count, type, peer));
    }

    private CompletableFuture<@Nullable Void> start(Consumer<Collectives> call) {
        Starting starting = new Starting(collectives);
        call.accept(starting);
        return starting.future;
    }

    /** Takes the one call that a method of this class makes, and starts it. */
    private static final class Starting extends Collectives {
        private final Collectives collectives;
        CompletableFuture<@Nullable Void> future = new CompletableFuture<>();

        Starting(Collectives collectives) {
            this.collectives = collectives;
        }

        @Override
        void run(Call call, @Nullable MemorySegment send, @Nullable MemorySegment recv) {
            future = collectives.start(call, send, recv);
        }

        @Override
        CompletableFuture<@Nullable Void> start(
                Call call, @Nullable MemorySegment send, @Nullable MemorySegment recv) {
            return collectives.start(call, send, recv);
        }
    }
}
