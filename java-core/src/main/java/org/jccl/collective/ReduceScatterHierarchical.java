package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.Schedule;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

/**
 * {@link FoldSliced} for ranks on several nodes: on every other node a rank has an agent, which
 * folds the contributions of its node to the rank's part and sends it the sum.
 *
 * <p>A slot of the ring holds the same chunk of every part: the own contribution, and in the places
 * of those that the rank deals with itself, the sums. A rank folds chunk c before it contributes to
 * chunk c+2, and then folds its node's contributions to chunk c+1; so four slots need no
 * acknowledgement. A rank that contributes to chunk c+4 has folded its node's contributions to
 * chunk c+2: its whole node had contributed to that, hence folded those to chunk c. A rank that
 * sends a sum of chunk c+4 has folded chunk c+3, for which the reader's whole node had contributed
 * to it, hence folded chunk c+1.
 *
 * <p>Source: as {@link AllReduceHierarchical}, its first half. Cost, with H nodes of L ranks, s the
 * whole input: 2 &alpha; + s (&beta; + &gamma;) on the node; a node sends s (1 - 1/H) bytes.
 * Limits: four slots, and 64 bytes in one for each rank. Order of reduction: the ranks of a node,
 * then the nodes.
 */
final class ReduceScatterHierarchical extends Algorithm {
    private static final int LEAST_SLOTS = 4;

    ReduceScatterHierarchical() {
        super(Operation.REDUCE_SCATTER);
    }

    @Override
    public Schedule.Order order() {
        return Schedule.Order.NODES;
    }

    @Override
    boolean fits(Shape shape) {
        return shape.nodes().deep()
                && shape.limits().ringSlots() >= LEAST_SLOTS
                && partBytes(shape) >= Slices.LINE_BYTES;
    }

    private static long partBytes(Shape shape) {
        return shape.limits().ringSlotBytes() / shape.nRanks();
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        Slices cut = Slices.atMost(shape.bytes(), partBytes(shape));
        Chunks chunks = new Chunks(shape, cut, Staging.ring(shape.limits()), cut.stride());
        Mates mates = Mates.of(shape, rank);
        NodeFolds folds = new NodeFolds(steps, chunks, mates, null);
        int[] far = mates.farOwners(rank);
        Lookahead.interleave(
                chunks.count(),
                c -> {
                    folds.contribute(c);
                    steps.signal(Flags.CONTRIBUTED, c + 1, mates.others());
                },
                c -> {
                    Ref result = steps.out(chunks.start(c));
                    steps.awaitAll(mates.others(), Flags.CONTRIBUTED, c + 1);
                    folds.foldNode(c, rank, result);
                    for (int owner : far) {
                        folds.foldNode(c, owner, chunks.staged(rank, c, owner));
                    }
                    steps.signal(Flags.PART_REDUCED, c + 1, far);
                    steps.awaitAll(mates.farAgentsByNode(), Flags.PART_REDUCED, c + 1);
                    folds.fold(c, result);
                });
        return chunks.count();
    }
}
