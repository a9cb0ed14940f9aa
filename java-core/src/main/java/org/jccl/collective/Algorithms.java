package org.jccl.collective;

import static org.jccl.type.Operation.ALL_GATHER;
import static org.jccl.type.Operation.ALL_REDUCE;
import static org.jccl.type.Operation.BROADCAST;
import static org.jccl.type.Operation.REDUCE;
import static org.jccl.type.Operation.REDUCE_SCATTER;

import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** All algorithms, and which one a call gets unless somebody says otherwise. */
public final class Algorithms {
    /**
     * AllReduce and Reduce are flat while (n - 2) s is at most this. Against slices this saves one
     * signal, about 1.5 &micro;s with a core for each rank, and folds (n - 2) s bytes more at some
     * 10 GB/s.
     */
    private static final long FLAT_EXTRA_BYTES = 16384;

    /** A broadcast of more than this is worth overlapping root and readers. */
    private static final long FLAT_BROADCAST_BYTES = 65536;

    /**
     * A call with more bytes than this in the larger of its buffers costs more to send twice than
     * to relay.
     */
    private static final long HIERARCHICAL_BYTES = 16384;

    /**
     * An all-reduce in which a rank would send to so many ranks of other nodes is relayed, however
     * short it is: a message takes some 5 &micro;s of a core at each end, a second trip some 25.
     */
    private static final int RELAYED_MESSAGES = 4;

    /**
     * Where ranks read each other's buffers, a call with so many bytes in the larger of its buffers
     * gains more by one copy less than it loses by more signals. A fold reads a slot as it is, but
     * would need a copy of a buffer of another process.
     */
    private static final long PULLED_BYTES = 1 << 20;

    /** The same for each part of an all-gather among more than two ranks. */
    private static final long PULLED_BY_ALL_BYTES = 4 << 20;

    /** An algorithm and the calls that it is good for, of those that it supports. */
    private record Choice(Algorithm algorithm, Predicate<Shape> suits) {}

    /** The first that is good for a call does it: those with the least latency come first. */
    private static final List<Choice> TABLE = new ArrayList<>();

    static {
        Operation[] folds = collectives(Operation::reduces);
        Operation[] copies = collectives(operation -> !operation.reduces());
        add(Tiny::new, shape -> !savesMessages(shape), folds);
        add(Tiny::new, shape -> true, copies);
        add(FoldHierarchical::new, Algorithms::isWorthRelaying, ALL_REDUCE, REDUCE_SCATTER);
        add(op -> new AllGatherHierarchical(), Algorithms::isWorthRelaying, ALL_GATHER);
        add(op -> new BroadcastHierarchical(), Algorithms::isWorthRelaying, BROADCAST);
        add(Flat::new, Algorithms::foldsLittle, ALL_REDUCE, REDUCE);
        add(Flat::new, shape -> shape.bytes() <= FLAT_BROADCAST_BYTES, BROADCAST);
        add(Flat::new, shape -> true, ALL_GATHER);
        add(Pulled::new, Algorithms::isWorthPulling, copies);
        add(FoldSliced::new, shape -> true, folds);
        add(CopyChunked::new, shape -> true, copies);
    }

    private Algorithms() {}

    private static void add(
            Function<Operation, Algorithm> make, Predicate<Shape> suits, Operation... operations) {
        for (Operation operation : operations) {
            TABLE.add(new Choice(make.apply(operation), suits));
        }
    }

    private static Operation[] collectives(Predicate<Operation> which) {
        return Stream.of(Operation.values())
                .filter(operation -> !operation.pointToPoint() && which.test(operation))
                .toArray(Operation[]::new);
    }

    private static boolean foldsLittle(Shape shape) {
        return shape.bytes() * (shape.nRanks() - 2) <= FLAT_EXTRA_BYTES;
    }

    /** Several ranks that read the same pages at once are in each other's way. */
    private static boolean isWorthPulling(Shape shape) {
        boolean byAll = shape.operation() == ALL_GATHER && shape.nRanks() > 2;
        return byAll
                ? shape.bytes() >= PULLED_BY_ALL_BYTES
                : Math.max(shape.inBytes(), shape.outBytes()) >= PULLED_BYTES;
    }

    private static boolean isWorthRelaying(Shape shape) {
        long bytes = Math.max(shape.inBytes(), shape.outBytes());
        return bytes > HIERARCHICAL_BYTES || savesMessages(shape);
    }

    private static boolean savesMessages(Shape shape) {
        return shape.operation() == ALL_REDUCE
                && shape.nodes().deep()
                && shape.nodes().mostFar() >= RELAYED_MESSAGES;
    }

    /** Every algorithm; of each operation, those with the least latency first. */
    public static List<Algorithm> all() {
        return TABLE.stream().map(Choice::algorithm).toList();
    }

    /**
     * The algorithm for a call: the same on all ranks, since it looks at nothing but the shape.
     *
     * @throws IllegalArgumentException if there is none
     */
    public static Algorithm choose(Shape shape) {
        return find(shape)
                .orElseThrow(() -> new IllegalArgumentException("no algorithm for " + shape));
    }

    /** The same, if there is one. */
    public static Optional<Algorithm> find(Shape shape) {
        return TABLE.stream()
                .filter(row -> row.algorithm.supports(shape) && row.suits.test(shape))
                .map(Choice::algorithm)
                .findFirst();
    }
}
