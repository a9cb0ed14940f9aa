package org.jccl.schedule;

import org.jccl.schedule.Step.Copy;
import org.jccl.schedule.Step.FifoRecv;
import org.jccl.schedule.Step.FifoSend;
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

    /**
     * Checks that no step leaves the buffers and areas of {@code shape}, whose memory is raw: a
     * wrong offset would end the process instead of raising an exception.
     *
     * @throws IllegalArgumentException naming the step
     */
    public void requireWithin(Shape shape) {
        if (shape.nRanks() != nRanks) {
            throw new IllegalArgumentException(nRanks + " ranks against " + shape.nRanks());
        }
        for (Step step : steps) {
            boolean good =
                    switch (step) {
                        case Put put ->
                                fits(put.src(), put.length(), shape)
                                        && fits(put.dst(), put.length(), shape);
                        case Signal signal -> signal.flag() < shape.limits().flags();
                        case Wait wait -> wait.flag() < shape.limits().flags();
                        case Fold fold ->
                                fits(fold.dst(), fold.length(), shape)
                                        && fold.length() % shape.elementBytes() == 0
                                        && fold.sources().stream()
                                                .allMatch(s -> fits(s, fold.length(), shape));
                        case Copy copy ->
                                fits(copy.dst(), copy.length(), shape)
                                        && fits(copy.src(), copy.length(), shape)
                                        && readable(copy.src(), shape.nodes());
                        case TinyPut put ->
                                fits(put.src(), put.length(), shape) && tiny(put.length(), shape);
                        case TinyFold fold ->
                                fits(fold.dst(), fold.length(), shape)
                                        && fits(fold.src(), fold.length(), shape)
                                        && tiny(fold.length(), shape);
                        case TinyCopy copy ->
                                fits(copy.dst(), copy.length(), shape)
                                        && tiny(copy.message(), shape);
                        case FifoSend send -> fits(send.src(), send.length(), shape);
                        case FifoRecv recv -> fits(recv.dst(), recv.length(), shape);
                    };
            if (!good) {
                throw new IllegalArgumentException(step + " is outside of " + shape);
            }
        }
    }

    private boolean readable(Ref src, Nodes nodes) {
        return own(src, rank) || src.space().isArea() || nodes.readable(rank, src.rank());
    }

    private static boolean fits(Ref ref, long length, Shape shape) {
        long size =
                switch (ref.space()) {
                    case IN -> shape.inBytes();
                    case OUT -> shape.outBytes();
                    case SMALL, DIRECT, RING -> shape.limits().areaBytes(ref.space());
                };
        return ref.offset() <= size && length <= size - ref.offset();
    }

    private static boolean tiny(long length, Shape shape) {
        return length <= shape.limits().tinyBytes();
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
                    case FifoSend send ->
                            own(send.src(), rank) && send.peer() != rank && send.peer() < nRanks;
                    case FifoRecv recv ->
                            writable(recv.dst(), rank)
                                    && recv.peer() != rank
                                    && recv.peer() < nRanks;
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
