package org.jccl.abi;

import org.jccl.type.Operation;

/** The operations with the parameters of {@code nccl.h}. */
final class Nccl {
    private Nccl() {}

    static int allReduce(
            long send, long recv, long count, int type, int op, long comm, long stream) {
        return call(Operation.ALL_REDUCE, send, recv, count, type, op, 0, comm, stream);
    }

    static int broadcast(
            long send, long recv, long count, int type, int root, long comm, long stream) {
        return call(Operation.BROADCAST, send, recv, count, type, 0, root, comm, stream);
    }

    static int bcast(long buffer, long count, int type, int root, long comm, long stream) {
        return broadcast(buffer, buffer, count, type, root, comm, stream);
    }

    static int allGather(long send, long recv, long count, int type, long comm, long stream) {
        return call(Operation.ALL_GATHER, send, recv, count, type, 0, 0, comm, stream);
    }

    static int reduceScatter(
            long send, long recv, long count, int type, int op, long comm, long stream) {
        return call(Operation.REDUCE_SCATTER, send, recv, count, type, op, 0, comm, stream);
    }

    static int reduce(
            long send, long recv, long count, int type, int op, int root, long comm, long stream) {
        return call(Operation.REDUCE, send, recv, count, type, op, root, comm, stream);
    }

    static int allToAll(long send, long recv, long count, int type, long comm, long stream) {
        return call(Operation.ALL_TO_ALL, send, recv, count, type, 0, 0, comm, stream);
    }

    static int gather(
            long send, long recv, long count, int type, int root, long comm, long stream) {
        return call(Operation.GATHER, send, recv, count, type, 0, root, comm, stream);
    }

    static int scatter(
            long send, long recv, long count, int type, int root, long comm, long stream) {
        return call(Operation.SCATTER, send, recv, count, type, 0, root, comm, stream);
    }

    static int send(long buffer, long count, int type, int peer, long comm, long stream) {
        return call(Operation.SEND, buffer, 0, count, type, 0, peer, comm, stream);
    }

    static int recv(long buffer, long count, int type, int peer, long comm, long stream) {
        return call(Operation.RECV, 0, buffer, count, type, 0, peer, comm, stream);
    }

    private static int call(
            Operation operation,
            long send,
            long recv,
            long count,
            int type,
            int op,
            int rootOrPeer,
            long comm,
            long stream) {
        int number = operation.number();
        return NcclApi.operation(number, send, recv, count, type, op, rootOrPeer, comm, stream);
    }
}
