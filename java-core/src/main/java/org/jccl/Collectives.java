package org.jccl;

import org.jccl.call.Call;
import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.Operation;
import org.jccl.type.Reduction;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;

/** The operations of a {@link Communicator}, which says what is true of all of them. */
public abstract class Collectives {
    /** Stands for the number of a type or reduction that is null. */
    static final int ABSENT = Integer.MIN_VALUE;

    Collectives() {}

    /** Runs the call, or queues it in the thread's group. */
    abstract void run(Call call, @Nullable MemorySegment send, @Nullable MemorySegment recv);

    /** Starts the call. */
    abstract CompletableFuture<@Nullable Void> start(
            Call call, @Nullable MemorySegment send, @Nullable MemorySegment recv);

    /** The same operations, which return at once and complete a future. */
    public AsyncCollectives async() {
        return new AsyncCollectives(this);
    }

    /**
     * Combines the elements of all ranks one by one; every rank gets the result.
     *
     * @param send {@code count} elements
     * @param recv gets {@code count} elements; in place, the same segment as {@code send}
     * @param count how many elements each rank has
     * @param type the type of the elements
     * @param op how elements are combined: a {@link org.jccl.type.RedOp}, or what {@link
     *     Communicator#preMulSum} has made
     * @throws NcclException as {@link Communicator} says of all operations
     */
    public void allReduce(
            MemorySegment send, MemorySegment recv, long count, DataType type, Reduction op) {
        Call call = call(Operation.ALL_REDUCE, count, type);
        run(call.reducedBy(number(op)), send, recv);
    }

    /**
     * Copies the elements of the root to every rank.
     *
     * @param send {@code count} elements on the root; the other ranks ignore it, and may pass null
     * @param recv gets {@code count} elements; in place, the same segment as {@code send}
     * @param count how many elements there are, the same number on all ranks
     * @param type the type of the elements
     * @param root the rank that sends
     * @throws NcclException as {@link Communicator} says of all operations
     */
    public void broadcast(
            @Nullable MemorySegment send, MemorySegment recv, long count, DataType type, int root) {
        run(call(Operation.BROADCAST, count, type).with(root), send, recv);
    }

    /**
     * Gathers the elements of all ranks, in the order of ranks; every rank gets all of them.
     *
     * @param send {@code sendCount} elements
     * @param recv gets {@code nRanks * sendCount} elements, those of rank r from {@code r *
     *     sendCount} on; in place, {@code send} is this rank's part of it
     * @param sendCount how many elements each rank has
     * @param type the type of the elements
     * @throws NcclException as {@link Communicator} says of all operations
     */
    public void allGather(MemorySegment send, MemorySegment recv, long sendCount, DataType type) {
        run(call(Operation.ALL_GATHER, sendCount, type), send, recv);
    }

    /**
     * Combines the elements of all ranks one by one; rank r gets part r of the result.
     *
     * @param send {@code nRanks * recvCount} elements
     * @param recv gets {@code recvCount} elements; in place, it is this rank's part of {@code send}
     * @param recvCount how many elements each rank gets
     * @param type the type of the elements
     * @param op how elements are combined: a {@link org.jccl.type.RedOp}, or what {@link
     *     Communicator#preMulSum} has made
     * @throws NcclException as {@link Communicator} says of all operations
     */
    public void reduceScatter(
            MemorySegment send, MemorySegment recv, long recvCount, DataType type, Reduction op) {
        Call call = call(Operation.REDUCE_SCATTER, recvCount, type);
        run(call.reducedBy(number(op)), send, recv);
    }

    /**
     * Combines the elements of all ranks one by one; the root gets the result.
     *
     * @param send {@code count} elements
     * @param recv gets {@code count} elements on the root, where in place it is the same segment as
     *     {@code send}; the other ranks ignore it, and may pass null
     * @param count how many elements each rank has
     * @param type the type of the elements
     * @param op how elements are combined: a {@link org.jccl.type.RedOp}, or what {@link
     *     Communicator#preMulSum} has made
     * @param root the rank that gets the result
     * @throws NcclException as {@link Communicator} says of all operations
     */
    public void reduce(
            MemorySegment send,
            @Nullable MemorySegment recv,
            long count,
            DataType type,
            Reduction op,
            int root) {
        Call call = call(Operation.REDUCE, count, type).with(root);
        run(call.reducedBy(number(op)), send, recv);
    }

    /**
     * Sends a part to each rank and receives one from each.
     *
     * @param send {@code nRanks * count} elements, those for rank r from {@code r * count} on
     * @param recv gets {@code nRanks * count} elements, those of rank r from {@code r * count} on;
     *     in place, the same segment as {@code send}
     * @param count how many elements go to each rank
     * @param type the type of the elements
     * @throws NcclException as {@link Communicator} says of all operations; INVALID_USAGE for more
     *     ranks than there is room for elements of this size ({@code TOO_MANY_RANKS})
     */
    public void allToAll(MemorySegment send, MemorySegment recv, long count, DataType type) {
        run(call(Operation.ALL_TO_ALL, count, type), send, recv);
    }

    /**
     * Gathers the elements of all ranks at the root, in the order of ranks.
     *
     * @param send {@code count} elements
     * @param recv gets {@code nRanks * count} elements on the root, those of rank r from {@code r *
     *     count} on, where in place {@code send} is this rank's part of it; the other ranks ignore
     *     it, and may pass null
     * @param count how many elements each rank has
     * @param type the type of the elements
     * @param root the rank that gets all of them
     * @throws NcclException as {@link Communicator} says of all operations
     */
    public void gather(
            MemorySegment send, @Nullable MemorySegment recv, long count, DataType type, int root) {
        run(call(Operation.GATHER, count, type).with(root), send, recv);
    }

    /**
     * Sends a part of the elements of the root to each rank.
     *
     * @param send {@code nRanks * count} elements on the root, those for rank r from {@code r *
     *     count} on; the other ranks ignore it, and may pass null
     * @param recv gets {@code count} elements; in place, it is this rank's part of {@code send} on
     *     the root
     * @param count how many elements go to each rank
     * @param type the type of the elements
     * @param root the rank that sends
     * @throws NcclException as of {@link #allToAll}
     */
    public void scatter(
            @Nullable MemorySegment send, MemorySegment recv, long count, DataType type, int root) {
        run(call(Operation.SCATTER, count, type).with(root), send, recv);
    }

    /**
     * Sends elements to a peer. Sends and receives of two ranks match by their order; they are in
     * no order with collectives. A rank that sends to itself receives in the same {@link Group}.
     *
     * @param buffer {@code count} elements
     * @param count how many elements there are; the peer receives as many
     * @param type the type of the elements, the same at the peer
     * @param peer the rank that receives
     * @throws NcclException as {@link Communicator} says of all operations; INVALID_USAGE if the
     *     peer receives another number or type of elements ({@code UNMATCHED})
     */
    public void send(MemorySegment buffer, long count, DataType type, int peer) {
        run(call(Operation.SEND, count, type).with(peer), buffer, null);
    }

    /**
     * Receives elements from a peer, as {@link #send} says.
     *
     * @param buffer gets {@code count} elements
     * @param count how many elements there are; the peer sends as many
     * @param type the type of the elements, the same at the peer
     * @param peer the rank that sends
     * @throws NcclException as of {@link #send}
     */
    public void recv(MemorySegment buffer, long count, DataType type, int peer) {
        run(call(Operation.RECV, count, type).with(peer), null, buffer);
    }

    private static Call call(Operation operation, long count, @Nullable DataType type) {
        int number = type == null ? ABSENT : type.number();
        return org.jccl.group.Group.call(operation.number()).elements(count, number);
    }

    private static int number(@Nullable Reduction op) {
        return op == null ? ABSENT : op.number();
    }
}
