package org.jccl.executor;

import org.jccl.collective.SendRecv;
import org.jccl.plan.OpCode;
import org.jccl.plan.Plan;
import org.jccl.plan.Transfers;
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
import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;

/**
 * The sends to one peer, or the receives from it, in their order, and the interpreter of their
 * plan: {@link SendRecv}, with this rank and the peer as its pair, so that every rank in the code
 * is the peer. {@link #advance} goes as far with the first of them as the peer allows and keeps its
 * place in fields; it never blocks and allocates nothing.
 *
 * <p>Used by the owner of the communicator only, so its fields are plain.
 */
final class Lane {
    private static final int POLLS = 64;
    private static final int FIRST_SIZE = 4;

    /** The flag by which a receiver counts chunks. */
    private static final int TAKEN = 1;

    final int peer;
    final ArrayDeque<Task> tasks = new ArrayDeque<>(FIRST_SIZE);
    private final Links links;
    private final Area area;
    private final Peer link;
    private final boolean sends;
    private final int[] code;
    private final long[] args;
    private final long[] buffers = new long[Plan.FIFO + 1];
    private final Frame frame = new Frame();
    private final Blocked blocked;
    private int pc;

    /** Chunks that have passed, of all messages so far. */
    private long sequence;

    /** What the chunk of this round lacks of a whole one. */
    private long lacking;

    /**
     * An empty lane.
     *
     * @param area FIFO, or EXCHANGE for the lanes inside collectives
     */
    Lane(Links links, Area area, int peer, boolean sends) {
        this.links = links;
        this.area = area;
        this.peer = peer;
        this.sends = sends;
        this.link = links.peer(peer);
        this.blocked = new Blocked();
        Plan plan = Transfers.plan(sends ? SendRecv.SENDER : SendRecv.RECEIVER, link.isRemote());
        this.code = plan.code();
        this.args = plan.args();
    }

    /** The first task; null if there is none, or its data is not there. */
    @Nullable Task arrived() {
        Task first = tasks.peek();
        return first != null && first.arrived() ? first : null;
    }

    /** What the first task waits for; null if there is none. */
    @Nullable Blocked blocked() {
        Task first = tasks.peek();
        return first == null ? null : blocked.of(first);
    }

    /** A send and a receive of this rank to itself. */
    void copy(Task send, Task receive) {
        requireMatch(receive, send.count(), send.typeNumber(), send.call);
        Memory.copy(send.input(), receive.output(), send.bytes);
    }

    /**
     * Goes as far as possible with the first task.
     *
     * @return whether it is complete
     */
    boolean advance(Task task) {
        blocked.unknown();
        link.receive();
        if (sends && sequence == 0) {
            links.region(links.rank()).allocateSlots(area, peer);
        }
        return run(task) || (blocked.rank() < 0 && blocked.on(peer, 0, 0));
    }

    private boolean run(Task task) {
        int[] c = code;
        int at = pc;
        while (true) {
            int next;
            switch (c[at]) {
                case OpCode.END -> {
                    pc = 0;
                    task.passed = sequence;
                    return true;
                }
                case OpCode.ROUND -> {
                    begin(task, args[c[at + 1]]);
                    next = at + 2;
                }
                case OpCode.WAIT -> next = await(c[at + 2], c[at + 3]) ? at + 4 : at;
                case OpCode.HEADER -> {
                    long header = buffers[c[at + 1]];
                    Memory.putLong(header, task.count());
                    Memory.putInt(header + 8, task.typeNumber());
                    Memory.putLong(header + 16, task.call);
                    next = at + 2;
                }
                case OpCode.MATCH -> {
                    if (task.moved == 0) {
                        long header = buffers[c[at + 1]];
                        int type = Memory.getInt(header + 8);
                        long call = Memory.getLong(header + 16);
                        requireMatch(task, Memory.getLong(header), type, call);
                    }
                    next = at + 2;
                }
                case OpCode.COPY -> {
                    int a = c[at + 3];
                    Memory.copy(
                            buffers[c[at + 2]] + args[a + 1],
                            buffers[c[at + 1]] + args[a],
                            args[a + 2] - lacking);
                    next = at + 4;
                }
                case OpCode.SIGNAL -> {
                    long flag = RegionLayout.fifoFlag(area, peer, c[at + 1]);
                    Memory.putLongRelease(links.ownBase() + flag, sequence + c[at + 2]);
                    links.wakeSleepers();
                    next = at + 3;
                }
                case OpCode.LOOP -> {
                    task.moved += args[c[at + 2]] - lacking;
                    sequence++;
                    next = task.moved < task.bytes ? c[at + 1] : at + 3;
                }
                default -> next = runNet(c, at) ? at + OpCode.length(c, at) : at;
            }
            if (next == at) {
                pc = at;
                return false;
            }
            at = next;
        }
    }

    /** What a send waits for whose data the device moves: that the peer comes to its receive. */
    void awaitPeer(Task send, Blocked waits) {
        long at = links.base(peer) + RegionLayout.fifoFlag(area, links.rank(), TAKEN);
        long taken = Memory.getLongAcquire(at);
        if (taken < send.passed) {
            waits.on(peer, at, taken);
        } else {
            waits.unknown();
        }
    }

    private void begin(Task task, long chunk) {
        int sender = sends ? links.rank() : peer;
        int receiver = sends ? peer : links.rank();
        long slot = RegionLayout.fifoSlot(receiver, sequence);
        buffers[Plan.IN] = task.input() + task.moved;
        buffers[Plan.OUT] = task.output() + task.moved;
        buffers[Plan.FIFO] = links.region(sender).address(area) + slot;
        lacking = Math.max(0, chunk - (task.bytes - task.moved));
    }

    /**
     * Whether the peer has counted so many chunks; polls a little. At least the chunk before has
     * been counted, and at most as many as have slots.
     */
    private boolean await(int flag, int delta) {
        long at = links.base(peer) + RegionLayout.fifoFlag(area, links.rank(), flag);
        long wanted = sequence + delta;
        for (int i = 0; i < POLLS; i++) {
            long count = Memory.getLongAcquire(at);
            if (count < 0 || count < wanted - 1 || count >= wanted + RegionLayout.FIFO_SLOTS) {
                throw nonsense(count);
            }
            if (count >= wanted) {
                return true;
            }
            blocked.on(peer, at, count);
            links.pause();
        }
        return false;
    }

    private NcclException nonsense(long count) {
        return sends
                ? ErrorKind.NONSENSE.says(
                        "rank %s says that it has taken %s chunks from a FIFO that was given "
                                + "%s; abort or destroy the communicator",
                        peer, count, sequence)
                : ErrorKind.NONSENSE.says(
                        "rank %s says that it has put %s chunks into a FIFO of which %s are "
                                + "taken; abort or destroy the communicator",
                        peer, count, sequence);
    }

    /** The steps of plans for a peer that is reached over TCP; whether one is over. */
    private boolean runNet(int[] c, int at) {
        return switch (c[at]) {
            case OpCode.NET_PUT -> post(frameOf(c, at), c[at + 4], c[at + 5]);
            case OpCode.NET_SIGNAL -> post(frame.empty(), c[at + 2], c[at + 3]);
            // What a receive has still to send is credit, which a sender that is gone needs not.
            case OpCode.NET_FLUSH -> sends ? links.flushed(peer) : link.flush();
            default -> throw ErrorKind.IMPOSSIBLE.says("opcode %s in a plan", c[at]);
        };
    }

    private Frame frameOf(int[] c, int at) {
        int a = c[at + 6];
        long place = buffers[c[at + 3]] + args[a] - links.region(links.rank()).address(area);
        long from = buffers[c[at + 2]] + args[a + 1];
        return frame.bytes(area, place, from, (int) (args[a + 2] - lacking));
    }

    private boolean post(Frame bytes, int flag, int delta) {
        return link.post(bytes.flag(RegionLayout.fifoFlag(area, peer, flag), sequence + delta));
    }

    private void requireMatch(Task receive, long count, int type, long call) {
        if (call != receive.call) {
            throw ErrorKind.UNMATCHED.says(
                    "rank %s receives in call %s from rank %s, but the next message there "
                            + "is of call %s: the ranks do not agree on who sends what in these "
                            + "collectives",
                    links.rank(), receive.call, peer, call);
        }
        if (count == receive.count() && type == receive.typeNumber()) {
            return;
        }
        long sent = CallRecord.describe(Operation.SEND.number(), type, 0, links.rank());
        throw ErrorKind.UNMATCHED.says(
                "send and receive do not match: rank %s receives from rank %s with %s, "
                        + "but the next message there is %s; count and type must be equal",
                links.rank(),
                peer,
                CallRecord.pointToPointText(receive.description, receive.count()),
                CallRecord.pointToPointText(sent, count));
    }
}
