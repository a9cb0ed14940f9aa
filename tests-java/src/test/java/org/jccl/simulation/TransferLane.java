package org.jccl.simulation;

import org.jccl.collective.SendRecv;
import org.jccl.schedule.Limits;
import org.jccl.schedule.Ref;
import org.jccl.schedule.Schedule;

/**
 * One side of a message. Those of one direction between two ranks follow each other; what counts
 * their chunks goes on from one to the next.
 */
final class TransferLane extends Lane {
    private final int side;
    private final int peer;
    private final int turn;
    private boolean begun;

    TransferLane(Simulation simulation, SimulatedRank rank, Call call, Schedule schedule) {
        super(simulation, rank, call, schedule);
        side = schedule.rank();
        peer = rank(1 - side);
        turn = me.queued[side][peer]++;
    }

    @Override
    boolean ready() {
        return begun;
    }

    @Override
    boolean prepare() {
        begun = me.over[side][peer] == turn;
        if (begun) {
            begin();
        }
        return begun;
    }

    @Override
    void end() {
        me.passed[side][peer] = sequence();
        me.over[side][peer]++;
    }

    @Override
    int rank(int ofSchedule) {
        return ofSchedule == SendRecv.SENDER ? call.from() : call.shape().root();
    }

    @Override
    int[] ranks(int[] ofSchedule) {
        return new int[] {peer};
    }

    @Override
    long base() {
        return me.passed[side][peer];
    }

    @Override
    int flag(int ofSchedule, int reader) {
        return SimulatedRank.flag(ofSchedule, reader);
    }

    @Override
    View view(int owner, int reader) {
        return simulation.slots(owner, reader, rank(SendRecv.RECEIVER));
    }

    /** Nobody else looks at these slots. */
    @Override
    boolean shares(int q) {
        return q == me.rank || (q == peer && simulation.mates(me.rank, q));
    }

    /** This rank knows that only if the reader says that it has read what the frame brought. */
    @Override
    void requireSent(int cell) {
        int writtenAt = view(me.rank, me.rank).writtenAt(cell);
        boolean sent = view(me.rank, peer).wasRead(cell, writtenAt, me.clock[peer]);
        if (writtenAt > 0 && !shares(peer) && !sent) {
            throw new Violation("writes where a frame may still have to be sent from");
        }
    }

    @Override
    int cell(Ref ref) {
        Limits limits = simulation.limits();
        long slot = sequence() % limits.chunkSlots();
        return simulation.cells(slot * (Limits.HEADER_BYTES + limits.chunkBytes()) + ref.offset());
    }
}
