package org.jccl.executor;

import org.jccl.call.Composed;
import org.jccl.transport.Links;
import org.jccl.type.Operation;

/**
 * What one rank of one communicator has done. Written by the owner of the communicator, read at any
 * time; a reader may see an operation's call before its bytes.
 */
public final class Counters {
    private final Links links;
    private final long[] calls = new long[Operation.NUMBERS];
    private final long[] payloadBytes = new long[Operation.NUMBERS];
    private long selfBytes;
    private long mateBytes;
    private long netBytes;

    Counters(Links links) {
        this.links = links;
    }

    void collective(Task task) {
        Composed composed = task.exchanges() ? task.composed() : null;
        long whole = Math.max(task.plan().inBytes(), task.plan().outBytes());
        count(task, composed == null ? whole : composed.bytes());
        mateBytes += task.plan().mateBytes();
        netBytes += task.plan().netBytes();
    }

    void pointToPoint(Task task) {
        count(task, task.partBytes());
        transfer(task);
    }

    private void count(Task task, long payload) {
        calls[task.operationNumber()]++;
        payloadBytes[task.operationNumber()] += payload;
    }

    /** Counts the bytes that a send gives to this rank itself, to a mate or to TCP. */
    void transfer(Task task) {
        if (task.operation() == Operation.RECV) {
            return;
        }
        if (task.peer() == links.rank()) {
            selfBytes += task.bytes;
        } else if (links.peer(task.peer()).isRemote()) {
            netBytes += task.bytes;
        } else {
            mateBytes += task.bytes;
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
