package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Step;
import org.jspecify.annotations.Nullable;

import java.util.List;

/**
 * How ranks of several nodes reduce: on each node one rank deals with a piece and folds what the
 * ranks of its node contribute to it; the owner folds the sums of the nodes.
 *
 * @param pulls null where the ranks of a node exchange through the ring
 */
record NodeFolds(ScheduleBuilder steps, Pieces pieces, Mates mates, @Nullable Pulls pulls) {

    /** Gives each mate the own contributions to the pieces that it deals with. */
    void contribute(int chunk) {
        for (int q = 0; q < mates.nodes().nRanks(); q++) {
            int agent = mates.agent(q);
            if (agent != steps.rank()) {
                pieces.put(steps, chunk, q, agent);
            }
        }
    }

    /**
     * Folds the contributions of the own node to a piece, which can be read, if it has mates, and
     * gives the sum to the owner.
     *
     * @param sum where it goes
     */
    void foldNode(int chunk, int owner, Ref sum) {
        int rank = steps.rank();
        long at = pieces.at(chunk, owner);
        long length = pieces.length(chunk, owner);
        if (!mates.none() && pulls != null) {
            pulls.fold(mates.all(), at, sum.offset(), length);
        } else if (!mates.none()) {
            List<Ref> sources =
                    steps.contributions(
                            mates.all(), steps.in(at), q -> pieces.staged(q, chunk, owner));
            steps.add(new Step.Fold(sum, sources, length, false));
        }
        if (owner != rank) {
            Ref src = nodeSum(chunk, owner, sum);
            steps.put(src, pieces.staged(rank, chunk, owner), length, owner);
        }
    }

    /** Where the sum of the own node is: the input, if there is nobody else. */
    private Ref nodeSum(int chunk, int owner, Ref sum) {
        return mates.none() ? steps.in(pieces.at(chunk, owner)) : sum;
    }

    /** Folds the sums of all nodes, which are there, to the own piece. */
    void fold(int chunk, Ref result) {
        int rank = steps.rank();
        Ref own = nodeSum(chunk, rank, result);
        List<Ref> sources =
                steps.contributions(mates.ownAgents(), own, q -> pieces.staged(q, chunk, rank));
        steps.fold(result, sources, pieces.length(chunk, rank));
    }
}
