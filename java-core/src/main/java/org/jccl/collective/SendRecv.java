package org.jccl.collective;

import org.jccl.schedule.Limits;
import org.jccl.schedule.Ref;
import org.jccl.schedule.Schedule;
import org.jccl.schedule.Space;
import org.jccl.schedule.Step;

import java.util.List;

/**
 * A message, as the schedules of a pair of ranks, {@link #SENDER} and {@link #RECEIVER}. The sender
 * puts one chunk after the other into slots of its region, which take turns. The receiver copies
 * each out and then says so, which gives the sender credit for a later chunk. Every chunk has a
 * sequence number; they go on from message to message of the pair. An empty message is a chunk too.
 *
 * <p>Source: NCCL's FIFOs between peers. Cost: &alpha; + 2 s &beta;. Limits: none.
 */
public final class SendRecv {
    /** The rank of the pair that sends. */
    public static final int SENDER = 0;

    /** The rank of the pair that receives. */
    public static final int RECEIVER = 1;

    private static final Ref SLOT = new Ref(Space.FIFO, SENDER, 0);
    private static final Ref PAYLOAD = SLOT.plus(Limits.HEADER_BYTES);

    private SendRecv() {}

    /** What a rank of the pair does, whatever the message. */
    public static Schedule schedule(int rank, Limits limits) {
        List<Step> round = rank == SENDER ? send(limits) : receive(limits);
        Step loop = new Step.Loop(limits.chunkBytes(), round);
        return new Schedule(rank, 2, List.of(loop), Schedule.Order.RANKS, 1);
    }

    private static List<Step> send(Limits limits) {
        int chunk = limits.chunkBytes();
        int[] reader = {RECEIVER};
        return List.of(
                new Step.Wait(RECEIVER, Flags.TAKEN, 1 - limits.chunkSlots()),
                new Step.Header(SLOT),
                new Step.Copy(PAYLOAD, new Ref(Space.IN, SENDER, 0), chunk),
                new Step.Put(SLOT, Limits.HEADER_BYTES + chunk, SLOT, reader),
                new Step.Signal(Flags.CONTRIBUTED, 1, reader));
    }

    private static List<Step> receive(Limits limits) {
        return List.of(
                new Step.Wait(SENDER, Flags.CONTRIBUTED, 1),
                new Step.Match(SLOT),
                new Step.Copy(new Ref(Space.OUT, RECEIVER, 0), PAYLOAD, limits.chunkBytes()),
                new Step.Signal(Flags.TAKEN, 1, new int[] {SENDER}));
    }
}
