package org.jccl.executor;

import org.jccl.platform.Memory;
import org.jccl.transport.Area;
import org.jccl.transport.CallRecord;
import org.jccl.transport.Frame;
import org.jccl.transport.Links;
import org.jccl.transport.Peer;
import org.jccl.transport.RegionLayout;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.Operation;

/**
 * Send and receive: per ordered pair of ranks a FIFO of slots in the sender's region, a head that
 * counts chunks put and a tail in the receiver's region that counts chunks taken. The first chunk
 * of a message carries its count and type, and the number of the collective that it is a part of,
 * which the receiver compares.
 *
 * <p>Used by the owner of the communicator only.
 */
final class Fifo {
    private static final int POLLS = 64;

    private final Links links;
    private final Area area;
    private final int rank;
    private final long[] put;
    private final long[] taken;
    private final Frame frame = new Frame();

    /**
     * The FIFOs to and from all peers.
     *
     * @param area FIFO, or EXCHANGE for those inside collectives
     */
    Fifo(Links links, Area area) {
        this.links = links;
        this.area = area;
        this.rank = links.rank();
        this.put = new long[links.nRanks()];
        this.taken = new long[links.nRanks()];
    }

    /**
     * Goes as far as possible with a task.
     *
     * @param blocked that of the task's lane, which learns what the task waits for
     * @return whether it is complete
     */
    boolean advance(Task task, Blocked blocked) {
        blocked.unknown();
        Peer peer = links.peer(task.peer());
        peer.receive();
        boolean over =
                task.operation() == Operation.SEND
                        ? send(task, peer, blocked)
                        : receive(task, peer, blocked);
        return over || (blocked.rank() < 0 && blocked.on(task.peer(), 0, 0));
    }

    /** A send and a receive of this rank to itself. */
    void copy(Task send, Task receive) {
        checkMatch(receive, send.count(), send.typeNumber(), send.call);
        Memory.copy(send.input(), receive.output(), send.bytes);
    }

    private boolean send(Task task, Peer link, Blocked blocked) {
        int peer = task.peer();
        if (put[peer] == 0 && !task.begun) {
            links.region(rank).allocateSlots(area, peer);
        }
        long fifo = links.region(rank).address(area);
        long tailAt = links.base(peer) + RegionLayout.fifoTail(area, rank);
        while (!task.begun || task.moved < task.bytes) {
            if (!counts(task, tailAt, put[peer] - RegionLayout.FIFO_SLOTS, blocked)) {
                return false;
            }
            long slotOffset = RegionLayout.fifoSlot(peer, put[peer]);
            long slot = fifo + slotOffset;
            long length = Math.min(RegionLayout.FIFO_PAYLOAD, task.bytes - task.moved);
            Memory.putLong(slot, task.count());
            Memory.putInt(slot + 8, task.typeNumber());
            Memory.putLong(slot + 16, task.call);
            Memory.copy(task.input() + task.moved, slot + RegionLayout.FIFO_HEADER_BYTES, length);
            long head = RegionLayout.fifoHead(area, peer);
            long number = put[peer] + 1;
            if (!link.isRemote()) {
                Memory.putLongRelease(links.ownBase() + head, number);
                links.wakeSleepers();
            } else {
                int whole = (int) length + RegionLayout.FIFO_HEADER_BYTES;
                if (!link.post(frame.bytes(area, slotOffset, slot, whole).flag(head, number))) {
                    return false;
                }
            }
            put[peer] = number;
            task.begun = true;
            task.moved += length;
        }
        return links.flushed(peer);
    }

    private boolean receive(Task task, Peer link, Blocked blocked) {
        int peer = task.peer();
        long headAt = links.base(peer) + RegionLayout.fifoHead(area, rank);
        while (!task.begun || task.moved < task.bytes) {
            if (!counts(task, headAt, taken[peer], blocked)) {
                return false;
            }
            long slot = links.region(peer).address(area) + RegionLayout.fifoSlot(rank, taken[peer]);
            if (!task.begun) {
                checkMatch(
                        task,
                        Memory.getLong(slot),
                        Memory.getInt(slot + 8),
                        Memory.getLong(slot + 16));
            }
            long tail = RegionLayout.fifoTail(area, peer);
            long number = taken[peer] + 1;
            long length = Math.min(RegionLayout.FIFO_PAYLOAD, task.bytes - task.moved);
            Memory.copy(slot + RegionLayout.FIFO_HEADER_BYTES, task.output() + task.moved, length);
            if (!link.isRemote()) {
                Memory.putLongRelease(links.ownBase() + tail, number);
                links.wakeSleepers();
            } else if (!link.post(frame.empty().flag(tail, number))) {
                return false;
            }
            taken[peer] = number;
            task.begun = true;
            task.moved += length;
        }
        return link.flush();
    }

    /**
     * Whether the peer of a task has counted more chunks than {@code base}; polls a little. It can
     * have counted as many more as a FIFO has slots.
     */
    private static boolean counts(Task task, long at, long base, Blocked blocked) {
        for (int i = 0; i < POLLS; i++) {
            long count = Memory.getLongAcquire(at);
            if (count < 0 || count < base || count > base + RegionLayout.FIFO_SLOTS) {
                throw nonsense(task, count, base);
            }
            if (count > base) {
                return true;
            }
            blocked.on(task.peer(), at, count);
        }
        return false;
    }

    private static NcclException nonsense(Task task, long count, long base) {
        return task.operation() == Operation.SEND
                ? ErrorKind.NONSENSE.says(
                        "rank %s says that it has taken %s chunks from a FIFO that was given "
                                + "%s; abort or destroy the communicator",
                        task.peer(), count, base + RegionLayout.FIFO_SLOTS)
                : ErrorKind.NONSENSE.says(
                        "rank %s says that it has put %s chunks into a FIFO of which %s are "
                                + "taken; abort or destroy the communicator",
                        task.peer(), count, base);
    }

    private void checkMatch(Task receive, long count, int type, long call) {
        if (call != receive.call) {
            throw ErrorKind.UNMATCHED.says(
                    "rank %s receives in call %s from rank %s, but the next message there "
                            + "is of call %s: the ranks do not agree on who sends what in these "
                            + "collectives",
                    rank, receive.call, receive.peer(), call);
        }
        if (count == receive.count() && type == receive.typeNumber()) {
            return;
        }
        long sent = CallRecord.describe(Operation.SEND.number(), type, 0, rank);
        throw ErrorKind.UNMATCHED.says(
                "send and receive do not match: rank %s receives from rank %s with %s, "
                        + "but the next message there is %s; count and type must be equal",
                rank,
                receive.peer(),
                CallRecord.pointToPointText(receive.description, receive.count()),
                CallRecord.pointToPointText(sent, count));
    }
}
