package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

import java.util.ArrayList;
import java.util.List;

/**
 * Every rank owns a slice of each chunk: it folds the contributions of all to its slice in its own
 * slot, and the root copies the results. The stages of three chunks are interleaved: contribute to
 * chunk c+1, fold chunk c, gather chunk c-1 at the root.
 *
 * <p>A slot holds the contributions to the others' slices and, in the place of the own slice, its
 * result. Four slots need no acknowledgement: who contributes to chunk c+4 has seen everybody's
 * contributions to chunk c+2, which come after their folds of chunk c; who folds chunk c+4 has seen
 * the root's to chunk c+3, which comes after it has gathered chunk c.
 *
 * <p>Source: Rabenseifner's reduce in its direct form, software-pipelined. Cost: 2 &alpha; + s ((2
 * - 1/n) &beta; + &gamma;); of several chunks only the first waits for an &alpha;. Limits: none.
 * Order of reduction: ranks 0 to n-1.
 */
final class ReduceSliced extends Algorithm {
    private static final int LEAST_SLOTS = 4;

    ReduceSliced() {
        super(Operation.REDUCE);
    }

    @Override
    boolean fits(Shape shape) {
        return new Call(shape, 0, new ScheduleBuilder(0, shape.nRanks())).chunks.parts() == 1
                || shape.limits().ringSlots() >= LEAST_SLOTS;
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        Call call = new Call(shape, rank, steps);
        Stages.interleave(call.chunks.parts(), call::contribute, call::fold, call::gather);
        return call.chunks.parts();
    }

    private static final class Call {
        private final Shape shape;
        private final int rank;
        private final ScheduleBuilder steps;
        private final Staging staging;
        private final Slices chunks;
        private final Slices places;

        Call(Shape shape, int rank, ScheduleBuilder steps) {
            this.shape = shape;
            this.rank = rank;
            this.steps = steps;
            this.staging = Staging.oneChunk(shape.bytes(), shape.limits());
            this.chunks = Slices.atMost(shape.bytes(), staging.slotBytes());
            this.places = Slices.of(chunks.stride(), shape.nRanks());
        }

        private Slices slices(int chunk) {
            return Slices.of(chunks.length(chunk), shape.nRanks());
        }

        private Ref staged(int writer, int chunk, int owner) {
            return staging.of(writer, chunk).plus(places.start(owner));
        }

        void contribute(int chunk) {
            Slices slices = slices(chunk);
            for (int q : steps.others()) {
                long at = chunks.start(chunk) + slices.start(q);
                steps.put(steps.in(at), staged(rank, chunk, q), slices.length(q), q);
            }
            steps.signal(Flags.CONTRIBUTED, chunk + 1, steps.others());
        }

        void fold(int chunk) {
            for (int q : steps.othersFromNext()) {
                steps.await(q, Flags.CONTRIBUTED, chunk + 1);
            }
            Slices slices = slices(chunk);
            long length = slices.length(rank);
            long at = chunks.start(chunk) + slices.start(rank);
            List<Ref> sources = new ArrayList<>();
            for (int q = 0; q < shape.nRanks(); q++) {
                sources.add(q == rank ? steps.in(at) : staged(q, chunk, rank));
            }
            if (rank == shape.root()) {
                steps.fold(steps.out(at), sources, length);
            } else if (length > 0) {
                Ref result = staged(rank, chunk, rank);
                steps.fold(result, sources, length);
                steps.put(result, result, length, shape.root());
                steps.signal(Flags.REDUCED, chunk + 1, shape.root());
            }
        }

        void gather(int chunk) {
            Slices slices = slices(chunk);
            for (int q : rank == shape.root() ? steps.othersFromNext() : new int[0]) {
                if (slices.length(q) > 0) {
                    steps.await(q, Flags.REDUCED, chunk + 1);
                    long at = chunks.start(chunk) + slices.start(q);
                    steps.copy(steps.out(at), staged(q, chunk, q), slices.length(q));
                }
            }
        }
    }
}
