package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.Schedule;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

import java.util.function.IntConsumer;

/**
 * {@link FoldSliced} for ranks on several nodes: on every other node a rank has an agent,
 * which folds the contributions of its node to the rank's part and sends it the sum.
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
        Call call = new Call(steps, chunks, mates, new NodeFolds(steps, chunks, mates, null));
        IntConsumer foldNode = call::foldNode;
        Lookahead.interleave(chunks.count(), call::contribute, foldNode.andThen(call::fold));
        return chunks.count();
    }

    private record Call(ScheduleBuilder steps, Chunks chunks, Mates mates, NodeFolds folds) {

        void contribute(int chunk) {
            folds.contribute(chunk);
            steps.signal(Flags.CONTRIBUTED, chunk + 1, mates.others());
        }

        void foldNode(int chunk) {
            int rank = steps.rank();
            int[] far = mates.farOwners(rank);
            steps.awaitAll(mates.others(), Flags.CONTRIBUTED, chunk + 1);
            folds.foldNode(chunk, rank, result(chunk));
            for (int owner : far) {
                folds.foldNode(chunk, owner, chunks.staged(rank, chunk, owner));
            }
            steps.signal(Flags.PART_REDUCED, chunk + 1, far);
        }

        void fold(int chunk) {
            steps.awaitAll(mates.farAgentsByNode(), Flags.PART_REDUCED, chunk + 1);
            folds.fold(chunk, result(chunk));
        }

        private Ref result(int chunk) {
            return steps.out(chunks.start(chunk));
        }
    }
}
