package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

import java.util.ArrayList;
import java.util.List;

/**
 * Every rank owns a slice of each chunk: it folds the contributions of all to its slice into its
 * own output and makes the result readable, and the others copy it. A reduce-scatter and an
 * all-gather by direct exchange, the stages of three chunks interleaved so that nobody waits for
 * the stage that it has just begun: contribute to chunk c+1, fold chunk c, gather chunk c-1.
 *
 * <p>A slot of the ring holds the contributions to the others' slices and, in the place of the own
 * slice, its result. A slice has the same place in every chunk, also where chunks differ by a line:
 * a contribution never covers an earlier chunk's result. Three slots need no acknowledgement: who
 * contributes to chunk c+3 has gathered chunk c, and by that has seen that its owners folded it;
 * who folds chunk c+3 has heard that everybody contributes to it and so has gathered chunk c. A
 * chunk has owners for as many ranks as it has lines; the others own nothing of it.
 *
 * <p>Source: Rabenseifner's all-reduce in its direct form, software-pipelined. Cost: 2 &alpha; + s
 * ((2 - 1/n) &beta; + &gamma;); of several chunks only the first waits for an &alpha;. Limits:
 * none. Order of reduction: ranks 0 to n-1.
 */
final class AllReduceSliced extends Algorithm {
    private static final int LEAST_SLOTS = 3;

    AllReduceSliced() {
        super(Operation.ALL_REDUCE);
    }

    @Override
    boolean fits(Shape shape) {
        return chunks(shape).parts() == 1 || shape.limits().ringSlots() >= LEAST_SLOTS;
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        Slices chunks = chunks(shape);
        Call call = new Call(shape, rank, steps, chunks, staging(shape));
        Stages.interleave(chunks.parts(), call::contribute, call::fold, call::gather);
        return chunks.parts();
    }

    private static Staging staging(Shape shape) {
        return Staging.oneChunk(shape.bytes(), shape.limits());
    }

    private static Slices chunks(Shape shape) {
        return Slices.atMost(shape.bytes(), staging(shape).slotBytes());
    }

    private record Call(
            Shape shape, int rank, ScheduleBuilder steps, Slices chunks, Staging staging) {

        Slices slices(int chunk) {
            return Slices.of(chunks.length(chunk), shape.nRanks());
        }

        /** Where rank {@code owner}'s slice of a chunk lies in the slot of rank {@code writer}. */
        Ref staged(int writer, int chunk, int owner) {
            long place = Slices.of(chunks.stride(), shape.nRanks()).start(owner);
            return staging.of(writer, chunk).plus(place);
        }

        void contribute(int chunk) {
            Slices slices = slices(chunk);
            List<Integer> owners = new ArrayList<>();
            for (int q : steps.others()) {
                long from = slices.start(q);
                if (slices.length(q) > 0) {
                    owners.add(q);
                    steps.put(
                            steps.in(chunks.start(chunk) + from),
                            staged(rank, chunk, q),
                            slices.length(q),
                            q);
                }
            }
            int[] readers = owners.stream().mapToInt(Integer::intValue).toArray();
            steps.signal(Flags.CONTRIBUTED, chunk + 1, readers);
        }

        void fold(int chunk) {
            Slices slices = slices(chunk);
            long length = slices.length(rank);
            if (length == 0) {
                return;
            }
            long from = slices.start(rank);
            long at = chunks.start(chunk) + from;
            List<Ref> sources = new ArrayList<>();
            for (int q = 0; q < shape.nRanks(); q++) {
                sources.add(q == rank ? steps.in(at) : staged(q, chunk, rank));
            }
            for (int q : steps.othersFromNext()) {
                steps.await(q, Flags.CONTRIBUTED, chunk + 1);
            }
            steps.fold(steps.out(at), sources, length);
            steps.put(steps.out(at), staged(rank, chunk, rank), length, steps.others());
            steps.signal(Flags.REDUCED, chunk + 1, steps.others());
        }

        void gather(int chunk) {
            Slices slices = slices(chunk);
            for (int q : steps.othersFromNext()) {
                long length = slices.length(q);
                if (length > 0) {
                    long from = slices.start(q);
                    steps.await(q, Flags.REDUCED, chunk + 1);
                    steps.copy(steps.out(chunks.start(chunk) + from), staged(q, chunk, q), length);
                }
            }
        }
    }
}
