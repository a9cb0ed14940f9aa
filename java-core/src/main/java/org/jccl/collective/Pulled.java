package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

/**
 * Every rank copies what it wants out of the buffers of the others' callers, once they are in the
 * call, or folds it, and ends when nobody reads its own any more. Serves every operation that
 * reduces nothing, reduce-scatter, and all-reduce: there every rank owns a slice, which it folds
 * into its own output, and out of that the others copy the result.
 *
 * <p>Source: single-copy collectives of MPI libraries on shared memory (CMA, XPMEM); of an
 * all-reduce, Rabenseifner's in its direct form. Cost: 2 &alpha; + s &beta;, s what a rank
 * receives; of a reduce-scatter 2 &alpha; + s ((n - 1) &beta; + n &gamma;), s the part; of an
 * all-reduce 3 &alpha; + s (2 (1 - 1/n) &beta; + &gamma;). Limits: all ranks read each other's
 * buffers. Order of reduction: ranks 0 to n-1.
 */
final class Pulled extends Algorithm {
    Pulled(Operation operation) {
        super(operation);
    }

    @Override
    public boolean readsWhileWriting() {
        return operation() == Operation.ALL_TO_ALL;
    }

    @Override
    boolean fits(Shape shape) {
        boolean folds = operation().reduces();
        return shape.nodes().allReadable() && (!folds || Pulls.possible(shape));
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        if (operation() == Operation.ALL_REDUCE) {
            return reduceToAll(shape, rank, steps);
        }
        int[] givers = steps.givers();
        int[] takers = steps.takers();
        steps.signal(Flags.CONTRIBUTED, 1, takers);
        if (operation().reduces()) {
            steps.awaitAll(givers, Flags.CONTRIBUTED, 1);
            int[] all = shape.nodes().ranks(0);
            new Pulls(shape, rank, steps).fold(all, shape.inStart(rank), 0, shape.bytes());
        } else {
            steps.copyOwnPart(0, shape.bytes());
            for (int q : steps.fromNext(givers)) {
                Ref src = steps.in(q, shape.inStart(rank));
                steps.await(q, Flags.CONTRIBUTED, 1);
                steps.copy(steps.out(shape.outStart(q)), src, shape.bytes());
            }
        }
        steps.signal(Flags.TAKEN, 1, givers);
        steps.awaitAll(takers, Flags.TAKEN, 1);
        return 1;
    }

    private static int reduceToAll(Shape shape, int rank, ScheduleBuilder steps) {
        Slices slices = new Slices(shape.bytes(), shape.nRanks());
        int[] others = steps.others();
        int[] owners = steps.others(q -> slices.length(q) > 0);
        boolean owns = slices.length(rank) > 0;
        steps.signal(Flags.CONTRIBUTED, 1, owners);
        if (owns) {
            steps.awaitAll(others, Flags.CONTRIBUTED, 1);
            int[] all = shape.nodes().ranks(0);
            long at = slices.start(rank);
            new Pulls(shape, rank, steps).fold(all, at, at, slices.length(rank));
            steps.signal(Flags.REDUCED, 1, others);
        }
        for (int q : steps.fromNext(owners)) {
            long at = slices.start(q);
            steps.await(q, Flags.REDUCED, 1);
            steps.copy(steps.out(at), steps.out(q, at), slices.length(q));
        }
        steps.signal(Flags.CONTRIBUTED, 2, owners);
        if (owns) {
            steps.awaitAll(others, Flags.CONTRIBUTED, 2);
        }
        return 2;
    }
}
