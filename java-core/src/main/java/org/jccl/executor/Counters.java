package org.jccl.executor;

import org.jccl.call.Call;
import org.jccl.call.Composed;
import org.jccl.type.Operation;

/**
 * What one rank of one communicator has done. Written by the owner of the communicator, read at any
 * time; a reader may see an operation's call before its bytes.
 */
public final class Counters {
    private final long[] calls = new long[Operation.NUMBERS];
    private final long[] payloadBytes = new long[Operation.NUMBERS];
    private long selfBytes;
    private long mateBytes;
    private long netBytes;

    void collective(Task task, int nRanks) {
        int number = task.operation().number();
        calls[number]++;
        if (task.exchanges()) {
            payloadBytes[number] += exchangedBytes(task);
            return;
        }
        payloadBytes[number] += task.operation().size(task.partBytes(), nRanks);
        mateBytes += task.plan().mateBytes();
        netBytes += task.plan().netBytes();
    }

    /** The larger of what goes out and what comes in. */
    private static long exchangedBytes(Task task) {
        Composed composed = task.composed();
        long sent = 0;
        long received = 0;
        if (composed != null) {
            for (Call transfer : composed.transfers()) {
                sent += transfer.operation() == Operation.SEND ? transfer.partBytes() : 0;
                received += transfer.operation() == Operation.RECV ? transfer.partBytes() : 0;
            }
        }
        return Math.max(sent, received);
    }

    /** Counts the bytes that a send gives to a mate or to TCP. */
    void transfer(Task transfer, boolean net) {
        if (transfer.operation() == Operation.SEND) {
            netBytes += net ? transfer.bytes : 0;
            mateBytes += net ? 0 : transfer.bytes;
        }
    }

    void pointToPoint(Task task, boolean self, boolean net) {
        int number = task.operation().number();
        calls[number]++;
        payloadBytes[number] += task.bytes;
        if (!self) {
            transfer(task, net);
        } else if (task.operation() == Operation.SEND) {
            selfBytes += task.bytes;
        }
    }

    /** Completed calls of an operation. */
    public long calls(Operation operation) {
        return calls[operation.number()];
    }

    /** Bytes of the callers' buffers (the whole buffer, as nccl-tests counts) of an operation. */
    public long payloadBytes(Operation operation) {
        return payloadBytes[operation.number()];
    }

    /** Bytes copied from this rank to itself by send/recv. */
    public long selfBytes() {
        return selfBytes;
    }

    /** Bytes that node mates read from this rank through shared memory. */
    public long sharedMemoryBytes() {
        return mateBytes;
    }

    /** Payload bytes sent over TCP. */
    public long netBytes() {
        return netBytes;
    }
}
