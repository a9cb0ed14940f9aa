package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Step;

import java.util.List;

/**
 * How ranks of several nodes reduce: on each node one rank deals with a piece and folds what the
 * ranks of its node contribute to it; the owner folds the sums of the nodes.
 */
record NodeFolds(ScheduleBuilder steps, Pieces pieces, Mates mates) {

    /** Gives each mate the own contributions to the pieces that it deals with. */
    void contribute(int chunk) {
        int rank = steps.rank();
        for (int q = 0; q < mates.nRanks(); q++) {
            int agent = mates.agent(q);
            if (agent != rank) {
                Ref src = steps.in(pieces.at(chunk, q));
                Ref dst = pieces.staged(rank, chunk, q);
                steps.put(src, dst, pieces.length(chunk, q), agent);
            }
        }
    }

    /** Where the sum of the own node is, if not in {@code sum}: the input of a rank alone there. */
    Ref nodeSum(int chunk, int owner, Ref sum) {
        return mates.none() ? steps.in(pieces.at(chunk, owner)) : sum;
    }

    /** Folds the contributions of the own node to a piece, which are there, if it has mates. */
    void foldNode(int chunk, int owner, Ref sum) {
        if (!mates.none()) {
            Ref own = steps.in(pieces.at(chunk, owner));
            List<Ref> sources =
                    steps.contributions(mates.all(), own, q -> pieces.staged(q, chunk, owner));
            steps.add(new Step.Fold(sum, sources, pieces.length(chunk, owner), false));
        }
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
