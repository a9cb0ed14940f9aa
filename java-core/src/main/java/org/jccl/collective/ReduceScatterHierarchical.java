package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.Schedule;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.schedule.Step;
import org.jccl.type.Operation;

import java.util.List;

/**
 * {@link ReduceScatterSliced} for ranks on several nodes: on every other node a rank has an agent,
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
        Chunks chunks = new Chunks(cut, Staging.ring(shape.limits()), cut.stride());
        Call call = new Call(shape, rank, steps, chunks, new Mates(shape, rank));
        for (int c = 0; c < chunks.count() + 2; c++) {
            if (c >= 2) {
                call.fold(c - 2);
            }
            if (c < chunks.count()) {
                call.contribute(c);
            }
            if (c >= 1 && c <= chunks.count()) {
                call.foldNode(c - 1);
            }
        }
        return chunks.count();
    }

    private record Call(Shape shape, int rank, ScheduleBuilder steps, Chunks chunks, Mates mates) {

        private Ref in(int chunk, int owner) {
            return steps.in(shape.inStart(owner) + chunks.start(chunk));
        }

        void contribute(int chunk) {
            for (int q = 0; q < shape.nRanks(); q++) {
                int agent = mates.agent(q);
                if (agent != rank) {
                    Ref dst = chunks.staged(rank, chunk, q);
                    steps.put(in(chunk, q), dst, chunks.length(chunk), agent);
                }
            }
            steps.signal(Flags.CONTRIBUTED, chunk + 1, mates.others());
        }

        void foldNode(int chunk) {
            steps.awaitAll(mates.others(), Flags.CONTRIBUTED, chunk + 1);
            foldNode(chunk, rank, steps.out(chunks.start(chunk)));
            int[] far = mates.farOwners(rank);
            for (int owner : far) {
                Ref sum = chunks.staged(rank, chunk, owner);
                Ref src = foldNode(chunk, owner, sum);
                steps.put(src, sum, chunks.length(chunk), owner);
            }
            steps.signal(Flags.PART_REDUCED, chunk + 1, far);
        }

        /** Where the sum of the own node is: the input, if there is nobody else. */
        private Ref foldNode(int chunk, int owner, Ref sum) {
            Ref own = in(chunk, owner);
            if (mates.none()) {
                return own;
            }
            List<Ref> sources =
                    steps.contributions(mates.all(), own, q -> chunks.staged(q, chunk, owner));
            steps.add(new Step.Fold(sum, sources, chunks.length(chunk), false));
            return sum;
        }

        void fold(int chunk) {
            Ref result = steps.out(chunks.start(chunk));
            Ref own = mates.none() ? in(chunk, rank) : result;
            int[] agents = mates.ownAgents();
            for (int agent : agents) {
                if (agent != rank) {
                    steps.await(agent, Flags.PART_REDUCED, chunk + 1);
                }
            }
            List<Ref> sources =
                    steps.contributions(agents, own, agent -> chunks.staged(agent, chunk, rank));
            steps.fold(result, sources, chunks.length(chunk));
        }
    }
}
