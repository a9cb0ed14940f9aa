package org.jccl.schedule;

import org.jccl.schedule.Step.Copy;
import org.jccl.schedule.Step.Fold;
import org.jccl.schedule.Step.Put;
import org.jccl.schedule.Step.Signal;
import org.jccl.schedule.Step.TinyCopy;
import org.jccl.schedule.Step.TinyFold;
import org.jccl.schedule.Step.TinyPut;
import org.jccl.schedule.Step.Wait;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What one rank does in one call.
 *
 * @param rank the own rank
 * @param nRanks ranks of the communicator
 * @param steps in order; empty when there is nothing to do
 * @param order in which contributions are folded, where the operation reduces
 * @param sequenceNumbers by how much the call advances the communicator's sequence base: equal on
 *     all ranks and at least the greatest delta of any rank's flags
 */
public record Schedule(int rank, int nRanks, List<Step> steps, Order order, int sequenceNumbers) {

    /** Orders of reduction. */
    public enum Order {
        /** Ranks 0 to n-1, as one fold. */
        RANKS,
        /** The ranks of each node ascending, then the nodes, by their first ranks. */
        NODES
    }

    public Schedule {
        if (rank < 0 || rank >= nRanks || sequenceNumbers < 0) {
            throw new IllegalArgumentException(
                    "rank " + rank + " of " + nRanks + ", " + sequenceNumbers + " numbers");
        }
        steps = List.copyOf(steps);
        Map<Integer, Integer> signalled = new HashMap<>();
        for (Step step : steps) {
            requireOwnRank(step, rank, nRanks);
            if (step instanceof Signal signal
                    && signal.delta() <= signalled.getOrDefault(signal.flag(), 0)) {
                throw new IllegalArgumentException("delta does not grow: " + signal);
            }
            if (step instanceof Signal signal) {
                signalled.put(signal.flag(), signal.delta());
            }
            if (greatestDelta(step) > sequenceNumbers) {
                throw new IllegalArgumentException(
                        step + " with " + sequenceNumbers + " sequence numbers");
            }
        }
    }

    private static int greatestDelta(Step step) {
        return switch (step) {
            case Signal signal -> signal.delta();
            case Wait wait -> wait.delta();
            default -> 0;
        };
    }

    private static void requireOwnRank(Step step, int rank, int nRanks) {
        boolean good =
                switch (step) {
                    case Put put ->
                            own(put.src(), rank)
                                    && own(put.dst(), rank)
                                    && others(put.readers(), rank, nRanks);
                    case Signal signal -> others(signal.readers(), rank, nRanks);
                    case Wait wait -> wait.rank() != rank && wait.rank() < nRanks;
                    case Fold fold -> ownFold(fold, rank, nRanks);
                    case Copy copy -> writable(copy.dst(), rank) && copy.src().rank() < nRanks;
                    case TinyPut put -> own(put.src(), rank) && others(put.readers(), rank, nRanks);
                    case TinyFold fold -> writable(fold.dst(), rank) && own(fold.src(), rank);
                    case TinyCopy copy -> writable(copy.dst(), rank) && copy.rank() < nRanks;
                };
        if (!good) {
            throw new IllegalArgumentException(
                    step + " cannot be of rank " + rank + " of " + nRanks);
        }
    }

    private static boolean ownFold(Fold fold, int rank, int nRanks) {
        if (!writable(fold.dst(), rank) || fold.sources().size() > nRanks) {
            return false;
        }
        for (Ref source : fold.sources()) {
            boolean readable = source.rank() == rank || source.space().isArea();
            if (source.rank() >= nRanks || !readable) {
                return false;
            }
        }
        return true;
    }

    private static boolean own(Ref ref, int rank) {
        return ref.rank() == rank;
    }

    private static boolean writable(Ref ref, int rank) {
        return ref.rank() == rank && ref.space() != Space.IN;
    }

    private static boolean others(int[] ranks, int rank, int nRanks) {
        for (int r : ranks) {
            if (r == rank || r >= nRanks) {
                return false;
            }
        }
        return true;
    }
}
