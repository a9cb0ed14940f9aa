package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.schedule.Space;
import org.jccl.type.Operation;

import java.util.function.IntFunction;

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
        return shape.nodes().allReadable() && (!folds || pieceBytes(shape) > 0);
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
            fold(shape, steps, new Slices(shape.bytes(), 1), 0);
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

    /** A line or more of each rank's contribution has room in the direct slot. */
    private static long pieceBytes(Shape shape) {
        long room = shape.limits().directBytes() / shape.nRanks();
        return room / Slices.LINE_BYTES * Slices.LINE_BYTES;
    }

    /**
     * Folds a slice of what the own rank receives. The others' contributions are copied piece by
     * piece into the own direct slot first, so that they are still in the cache when they are
     * folded.
     */
    private static void fold(Shape shape, ScheduleBuilder steps, Slices slices, int slice) {
        long start = slices.start(slice);
        long end = start + slices.length(slice);
        long piece = pieceBytes(shape);
        IntFunction<Ref> place = q -> new Ref(Space.DIRECT, steps.rank(), q * piece);
        for (long at = start; at < end; at += piece) {
            long bytes = Math.min(piece, end - at);
            long from = shape.inStart(steps.rank()) + at;
            for (int q : steps.others()) {
                steps.copy(place.apply(q), steps.in(q, from), bytes);
            }
            steps.fold(steps.out(at), steps.contributions(from, place), bytes);
        }
    }

    private static int reduceToAll(Shape shape, int rank, ScheduleBuilder steps) {
        Slices slices = new Slices(shape.bytes(), shape.nRanks());
        int[] others = steps.others();
        int[] owners = steps.others(q -> slices.length(q) > 0);
        boolean owns = slices.length(rank) > 0;
        steps.signal(Flags.CONTRIBUTED, 1, owners);
        if (owns) {
            steps.awaitAll(others, Flags.CONTRIBUTED, 1);
            fold(shape, steps, slices, rank);
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
