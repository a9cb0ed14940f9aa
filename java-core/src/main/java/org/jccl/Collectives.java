package org.jccl;

import org.jccl.call.Call;
import org.jccl.type.DataType;
import org.jccl.type.Operation;
import org.jccl.type.Reduction;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;

/** The operations of a {@link Communicator}, whose page says what is true of all of them. */
abstract sealed class Collectives permits Communicator {
    /** Stands for the number of a type or reduction that is null. */
    static final int ABSENT = Integer.MIN_VALUE;

    /** Does what a method has been asked for, or queues it in the thread's group. */
    abstract void run(
            Call call, @Nullable MemorySegment send, @Nullable MemorySegment recv, Stream stream);

    /** Reduces count elements of all ranks; every rank gets the result. In place: send is recv. */
    public void allReduce(
            MemorySegment send, MemorySegment recv, long count, DataType type, Reduction op) {
        allReduce(send, recv, count, type, op, Stream.DEFAULT);
    }

    /** The same in a stream of the communicator's device. */
    public void allReduce(
            MemorySegment send,
            MemorySegment recv,
            long count,
            DataType type,
            Reduction op,
            Stream stream) {
        Call call = call(Operation.ALL_REDUCE, count, type);
        run(call.reducedBy(number(op)), send, recv, stream);
    }

    /**
     * Copies count elements of the root to every rank. In place: send is recv. On the other ranks
     * send is not looked at.
     */
    public void broadcast(
            MemorySegment send, MemorySegment recv, long count, DataType type, int root) {
        broadcast(send, recv, count, type, root, Stream.DEFAULT);
    }

    /** The same in a stream of the communicator's device. */
    public void broadcast(
            MemorySegment send,
            MemorySegment recv,
            long count,
            DataType type,
            int root,
            Stream stream) {
        run(call(Operation.BROADCAST, count, type).with(root), send, recv, stream);
    }

    /**
     * Gathers sendCount elements of every rank, in the order of ranks; recv holds nRanks times as
     * many. In place: send is the own part of recv.
     */
    public void allGather(MemorySegment send, MemorySegment recv, long sendCount, DataType type) {
        allGather(send, recv, sendCount, type, Stream.DEFAULT);
    }

    /** The same in a stream of the communicator's device. */
    public void allGather(
            MemorySegment send, MemorySegment recv, long sendCount, DataType type, Stream stream) {
        run(call(Operation.ALL_GATHER, sendCount, type), send, recv, stream);
    }

    /**
     * Reduces nRanks times recvCount elements of all ranks; rank r gets part r of the result. In
     * place: recv is the own part of send.
     */
    public void reduceScatter(
            MemorySegment send, MemorySegment recv, long recvCount, DataType type, Reduction op) {
        reduceScatter(send, recv, recvCount, type, op, Stream.DEFAULT);
    }

    /** The same in a stream of the communicator's device. */
    public void reduceScatter(
            MemorySegment send,
            MemorySegment recv,
            long recvCount,
            DataType type,
            Reduction op,
            Stream stream) {
        Call call = call(Operation.REDUCE_SCATTER, recvCount, type);
        run(call.reducedBy(number(op)), send, recv, stream);
    }

    /**
     * Reduces count elements of all ranks; the root gets the result. In place: send is recv. On the
     * other ranks recv is not looked at.
     */
    public void reduce(
            MemorySegment send,
            MemorySegment recv,
            long count,
            DataType type,
            Reduction op,
            int root) {
        reduce(send, recv, count, type, op, root, Stream.DEFAULT);
    }

    /** The same in a stream of the communicator's device. */
    public void reduce(
            MemorySegment send,
            MemorySegment recv,
            long count,
            DataType type,
            Reduction op,
            int root,
            Stream stream) {
        Call call = call(Operation.REDUCE, count, type).with(root);
        run(call.reducedBy(number(op)), send, recv, stream);
    }

    /**
     * Sends part r of send, count elements, to rank r, and receives part r of recv from it. Both
     * hold nRanks times as many. In place: send is recv.
     */
    public void allToAll(MemorySegment send, MemorySegment recv, long count, DataType type) {
        allToAll(send, recv, count, type, Stream.DEFAULT);
    }

    /** The same in a stream of the communicator's device. */
    public void allToAll(
            MemorySegment send, MemorySegment recv, long count, DataType type, Stream stream) {
        run(call(Operation.ALL_TO_ALL, count, type), send, recv, stream);
    }

    /**
     * Gathers count elements of every rank at the root, in the order of ranks; its recv holds
     * nRanks times as many. In place: send is the own part of recv. On the other ranks recv is not
     * looked at.
     */
    public void gather(
            MemorySegment send, MemorySegment recv, long count, DataType type, int root) {
        gather(send, recv, count, type, root, Stream.DEFAULT);
    }

    /** The same in a stream of the communicator's device. */
    public void gather(
            MemorySegment send,
            MemorySegment recv,
            long count,
            DataType type,
            int root,
            Stream stream) {
        run(call(Operation.GATHER, count, type).with(root), send, recv, stream);
    }

    /**
     * Sends part r of the root's send, count elements, to rank r; send holds nRanks times as many.
     * In place: recv is the own part of send. On the other ranks send is not looked at.
     */
    public void scatter(
            MemorySegment send, MemorySegment recv, long count, DataType type, int root) {
        scatter(send, recv, count, type, root, Stream.DEFAULT);
    }

    /** The same in a stream of the communicator's device. */
    public void scatter(
            MemorySegment send,
            MemorySegment recv,
            long count,
            DataType type,
            int root,
            Stream stream) {
        run(call(Operation.SCATTER, count, type).with(root), send, recv, stream);
    }

    /** Sends count elements to a peer, which must receive as many of the same type. */
    public void send(MemorySegment buffer, long count, DataType type, int peer) {
        send(buffer, count, type, peer, Stream.DEFAULT);
    }

    /** The same in a stream of the communicator's device. */
    public void send(MemorySegment buffer, long count, DataType type, int peer, Stream stream) {
        run(call(Operation.SEND, count, type).with(peer), buffer, null, stream);
    }

    /** Receives count elements from a peer, which must send as many of the same type. */
    public void recv(MemorySegment buffer, long count, DataType type, int peer) {
        recv(buffer, count, type, peer, Stream.DEFAULT);
    }

    /** The same in a stream of the communicator's device. */
    public void recv(MemorySegment buffer, long count, DataType type, int peer, Stream stream) {
        run(call(Operation.RECV, count, type).with(peer), null, buffer, stream);
    }

    private static Call call(Operation operation, long count, @Nullable DataType type) {
        int number = type == null ? ABSENT : type.number();
        return org.jccl.group.Group.call(operation).elements(count, number);
    }

    private static int number(@Nullable Reduction op) {
        return op == null ? ABSENT : op.number();
    }
}
