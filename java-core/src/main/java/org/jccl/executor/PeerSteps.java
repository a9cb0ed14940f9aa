package org.jccl.executor;

import org.jccl.plan.OpCode;
import org.jccl.plan.Plan;
import org.jccl.transport.Area;
import org.jccl.transport.CallRecord;
import org.jccl.transport.Frame;
import org.jccl.transport.Links;
import org.jccl.transport.Peer;
import org.jccl.transport.RegionLayout;
import org.jccl.type.ErrorKind;

import java.util.Arrays;

/**
 * The steps of a plan that a transport does: frames over TCP, and copies out of the process of
 * another rank. Each returns whether it is over.
 *
 * <p>Used by the owner of the communicator only, so its fields are plain.
 */
final class PeerSteps {
    /**
     * How much the owner reads from other processes before it lets other threads in; that takes
     * some milliseconds, for which an abort may have to wait.
     */
    private static final long TURN_BYTES = 16 << 20;

    private final Links links;
    private final CallWords calls;
    private final Blocked blocked;
    private final Frame frame = new Frame();
    private Task task = new Task();
    private long[] args = {};
    private long[] buffers = {};
    private long sequence;
    private int told;

    /** The call of which {@link #tellAll} has told the ranks before {@link #next}. */
    private long toldAll;

    private int next;

    /** How much of the current step has been read; below, how much more may be read now. */
    private long pulled;

    private long left;

    PeerSteps(Links links, CallWords calls, Blocked blocked) {
        this.links = links;
        this.calls = calls;
        this.blocked = blocked;
    }

    /** The steps that follow are those of this task's plan. */
    void begin(Task running, long[] table, long base) {
        task = running;
        args = running.plan().args();
        buffers = table;
        sequence = base;
        told = 0;
        pulled = 0;
    }

    /** The owner goes on with the plan. */
    void turn() {
        left = TURN_BYTES;
    }

    /** Whether the turn has ended to let other threads in. */
    boolean paused() {
        return left == 0;
    }

    /** How many bytes of a copy that is not over have been read. */
    long pulled() {
        return pulled;
    }

    /**
     * Tells the call to ranks that no other frame tells of it before they may have to know: by that
     * the partners in the call before know that this rank has finished it.
     */
    boolean announce(Plan plan) {
        int[] now = plan.announce();
        int[] before = calls.partnersBefore();
        for (; told < now.length + before.length; told++) {
            boolean again = told >= now.length;
            int q = again ? before[told - now.length] : now[told];
            if (again && Arrays.binarySearch(plan.partners(), q) >= 0) {
                continue;
            }
            frame.empty();
            if (!post(q)) {
                return false;
            }
        }
        return true;
    }

    /**
     * Tells the last call that this rank has published to all, as far as the queues have room:
     * others may wait for a rank that is late, and would take this one for late, too. The first
     * time that it is asked to in a call it does not, since most calls are over soon.
     */
    void tellAll() {
        if (toldAll != calls.published()) {
            toldAll = calls.published();
            next = 0;
            return;
        }
        for (; next < links.nRanks(); next++) {
            frame.empty();
            calls.write(frame);
            if (links.peer(next).isRemote() && !links.peer(next).post(frame)) {
                return;
            }
        }
    }

    /** Runs the step at that place. */
    boolean run(int[] c, int at) {
        return switch (c[at]) {
            case OpCode.NET_PUT -> put(c, at);
            case OpCode.NET_SIGNAL -> signal(c, at);
            case OpCode.NET_TINY -> tiny(c, at);
            case OpCode.NET_FLUSH -> flushed();
            case OpCode.PULL -> pull(c, at);
            default -> throw ErrorKind.IMPOSSIBLE.says("opcode %s in a plan", c[at]);
        };
    }

    private boolean signal(int[] c, int at) {
        frame.empty().flag(RegionLayout.flag(c[at + 2]), sequence + c[at + 3]);
        return post(c[at + 1]);
    }

    private boolean tiny(int[] c, int at) {
        int length = (int) args[c[at + 2]];
        long offset = calls.tiny(calls.number(), length);
        long from = links.ownBase() + offset;
        long word = calls.offset(calls.number());
        frame.bytes(Area.BASE, offset, from, length).flag(word, calls.word());
        return post(c[at + 1]);
    }

    private boolean flushed() {
        for (int q = 0; q < links.nRanks(); q++) {
            if (!links.flushed(q)) {
                return blocked.on(q, 0, 0);
            }
        }
        return true;
    }

    private boolean put(int[] c, int at) {
        int a = c[at + 6];
        int dst = c[at + 3];
        Area area = dst < Plan.FIRST_AREA + links.nRanks() ? Area.BASE : Area.RING;
        long ownArea = links.region(links.rank()).address(area);
        long offset = buffers[dst] + args[a] - ownArea;
        long from = buffers[c[at + 2]] + args[a + 1];
        int flag = c[at + 4];
        frame.bytes(area, offset, from, (int) args[a + 2])
                .flag(flag < 0 ? -1 : RegionLayout.flag(flag), sequence + c[at + 5]);
        return post(c[at + 1]);
    }

    /**
     * Copies from a buffer of another rank's caller. Bytes from a rank that ends meanwhile are
     * worth nothing: then the call does not go on.
     */
    private boolean pull(int[] c, int at) {
        int q = c[at + 2];
        int a = c[at + 3];
        long from = CallRecord.input(links.base(q), calls.number());
        if (from == 0) {
            return blocked.on(q, 0, 0);
        }
        long src = from + args[a + 1];
        long dst = buffers[c[at + 1]] + args[a];
        Peer peer = links.peer(q);
        while (pulled < args[a + 2]) {
            if (left == 0) {
                return blocked.unknown();
            }
            long bytes = Math.min(left, args[a + 2] - pulled);
            if (!peer.read(src + pulled, dst + pulled, bytes)) {
                return blocked.on(q, 0, 0);
            }
            pulled += bytes;
            left -= bytes;
        }
        pulled = 0;
        return true;
    }

    /** Posts what {@link #frame} holds, with the call. */
    private boolean post(int peer) {
        frame.call(calls.number(), task.description, task.count());
        return links.peer(peer).post(frame) || blocked.on(peer, 0, 0);
    }
}
