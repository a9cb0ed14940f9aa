package org.jccl.abi;

import org.jccl.comm.Buffers;
import org.jccl.comm.Comm;
import org.jccl.comm.Operations;
import org.jccl.group.Call;
import org.jccl.type.CallError;
import org.jccl.type.DataType;
import org.jccl.type.Operation;
import org.jspecify.annotations.Nullable;

/** Numbers and addresses of a call from outside, checked before anything else happens. */
final class Checked {
    private Checked() {}

    static void pointer(String function, String name, long address) {
        if (address == 0) {
            throw CallError.NULL_ARGUMENT.says(
                    function + " : " + name + " argument is NULL; pass the address of a variable");
        }
    }

    static DataType collectiveArguments(
            Comm comm,
            Operation op,
            long send,
            long recv,
            long count,
            int typeNumber,
            int redOp,
            int root) {
        DataType type = Buffers.type(op, typeNumber);
        if (op.reduces()) {
            Buffers.checkRedOp(op, redOp);
        }
        if (op.rooted()) {
            Buffers.checkRank(op, comm, root);
        }
        long part = Buffers.partBytes(op, comm, count, type);
        if (op.sends(comm.rank(), root)) {
            Buffers.checkBuffer(op, comm, "sendbuff", send, op.inSize(part, comm.nRanks()));
        }
        if (op.receives(comm.rank(), root)) {
            Buffers.checkBuffer(op, comm, "recvbuff", recv, op.outSize(part, comm.nRanks()));
        }
        return type;
    }

    static @Nullable Call collective(
            Comm comm,
            Operation op,
            long send,
            long recv,
            long count,
            int typeNumber,
            int redOp,
            int root,
            long stream) {
        comm.ensureReady();
        Buffers.checkStream(op, comm, stream);
        DataType type = collectiveArguments(comm, op, send, recv, count, typeNumber, redOp, root);
        return Operations.collective(comm, op, send, recv, count, type, redOp, root, stream);
    }

    static DataType peerArguments(
            Comm comm, Operation op, long buffer, long count, int typeNumber, int peer) {
        DataType type = Buffers.type(op, typeNumber);
        Buffers.checkRank(op, comm, peer);
        String name = op == Operation.SEND ? "sendbuff" : "recvbuff";
        Buffers.checkBuffer(op, comm, name, buffer, Buffers.partBytes(op, comm, count, type));
        return type;
    }

    static DataType exchangeArguments(
            Comm comm, Operation op, long count, int typeNumber, int root) {
        DataType type = Buffers.type(op, typeNumber);
        if (op.rooted()) {
            Buffers.checkRank(op, comm, root);
        }
        Buffers.partBytes(op, comm, count, type);
        return type;
    }

    static @Nullable Call pointToPoint(
            Comm comm,
            Operation op,
            long buffer,
            long count,
            int typeNumber,
            int peer,
            long stream) {
        comm.ensureReady();
        Buffers.checkStream(op, comm, stream);
        DataType type = peerArguments(comm, op, buffer, count, typeNumber, peer);
        return Operations.pointToPoint(comm, op, buffer, count, type, peer, stream);
    }
}
