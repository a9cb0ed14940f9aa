package org.jccl.schedule;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * Writes one rank's schedule step by step. Leaves out what would do nothing: steps of length 0,
 * signals to nobody, and waits for what an earlier wait has already seen.
 */
public final class ScheduleBuilder {
    private final Shape shape;
    private final int rank;
    private final List<Step> steps = new ArrayList<>();
    private final Map<Long, Integer> seen = new HashMap<>();

    /** A builder for what one rank does in a call. */
    public ScheduleBuilder(Shape shape, int rank) {
        this.shape = shape;
        this.rank = rank;
    }

    /** The own rank. */
    public int rank() {
        return rank;
    }

    /** A place in the caller's input. */
    public Ref in(long offset) {
        return new Ref(Space.IN, rank, offset);
    }

    /** A place in the caller's output. */
    public Ref out(long offset) {
        return new Ref(Space.OUT, rank, offset);
    }

    /** A place in the input of another rank's caller, which {@link Nodes} must allow to read. */
    public Ref in(int peer, long offset) {
        return new Ref(Space.IN, peer, offset);
    }

    /** All ranks but the own, ascending. */
    public int[] others() {
        return others(q -> true);
    }

    /** The other ranks for which {@code such} holds, ascending. */
    public int[] others(IntPredicate such) {
        return IntStream.range(0, shape.nRanks()).filter(q -> q != rank && such.test(q)).toArray();
    }

    /** The other ranks that receive what the own one sends, ascending. */
    public int[] takers() {
        return others(q -> shape.sends(rank) && shape.receives(q));
    }

    /** The other ranks that send what the own one receives, ascending. */
    public int[] givers() {
        return others(q -> shape.sends(q) && shape.receives(rank));
    }

    /** Ranks in an order in which not all begin with the same peer: those after the own first. */
    public int[] fromNext(int[] ascending) {
        IntStream after = IntStream.of(ascending).filter(q -> q > rank);
        return IntStream.concat(after, IntStream.of(ascending).filter(q -> q < rank)).toArray();
    }

    /** Adds {@link Step.Put}. */
    public void put(Ref src, Ref dst, long length, int... readers) {
        if (length > 0 && readers.length > 0) {
            steps.add(new Step.Put(src, length, dst, readers));
        }
    }

    /** Adds {@link Step.Signal}. */
    public void signal(int flag, int delta, int... readers) {
        if (readers.length > 0) {
            steps.add(new Step.Signal(flag, delta, readers));
        }
    }

    /** Adds {@link Step.Wait}. */
    public void await(int peer, int flag, int delta) {
        long word = (long) peer << 32 | flag;
        if (seen.getOrDefault(word, 0) < delta) {
            seen.put(word, delta);
            steps.add(new Step.Wait(peer, flag, delta));
        }
    }

    /** Adds a {@link Step.Wait} for each of these peers. */
    public void awaitAll(int[] peers, int flag, int delta) {
        for (int peer : peers) {
            await(peer, flag, delta);
        }
    }

    /**
     * The sources of a fold of everybody's contributions, in the order of ranks.
     *
     * @param offset where the own one begins in the input
     * @param staged by rank, where those of the others are
     */
    public List<Ref> contributions(long offset, IntFunction<Ref> staged) {
        return contributions(IntStream.range(0, shape.nRanks()).toArray(), in(offset), staged);
    }

    /** The sources of a fold of what these ranks contribute, in this order. */
    public List<Ref> contributions(int[] ranks, Ref own, IntFunction<Ref> staged) {
        return IntStream.of(ranks).mapToObj(q -> q == rank ? own : staged.apply(q)).toList();
    }

    /** Adds a {@link Step.Fold} whose result has everybody's contribution. */
    public void fold(Ref dst, List<Ref> sources, long length) {
        if (length > 0) {
            steps.add(new Step.Fold(dst, sources, length, true));
        }
    }

    /** Adds {@link Step.Copy}. */
    public void copy(Ref dst, Ref src, long length) {
        if (length > 0) {
            steps.add(new Step.Copy(dst, src, length));
        }
    }

    /** Copies a range of what the own rank has for itself, unless the call is in place. */
    public void copyOwnPart(long start, long length) {
        if (shape.sends(rank) && shape.receives(rank) && !shape.inPlace()) {
            copy(out(shape.outStart(rank) + start), in(shape.inStart(rank) + start), length);
        }
    }

    /** Adds any other step. */
    public void add(Step step) {
        steps.add(step);
    }

    /**
     * The schedule.
     *
     * @param order as in {@link Schedule}
     * @param sequenceNumbers as in {@link Schedule}
     */
    public Schedule build(Schedule.Order order, int sequenceNumbers) {
        return new Schedule(rank, shape.nRanks(), steps, order, sequenceNumbers);
    }
}
