package org.jccl.simulation;

import org.jccl.schedule.Nodes;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * Symbolic elements as longs. Equal terms are equal numbers. The fold that everybody wants, of
 * element i of ranks 0 to n-1, has a number that needs no table.
 */
final class Terms {
    /** A cell that nobody has written. */
    static final long POISON = 0;

    private static final int KIND_SHIFT = 60;
    private static final int CALL_SHIFT = 44;
    private static final int RANK_SHIFT = 34;
    private static final long INPUT = 1L << KIND_SHIFT;
    private static final long FOLDED = 2L << KIND_SHIFT;
    private static final long OTHER = 3L << KIND_SHIFT;
    private static final long HEADER = 4L << KIND_SHIFT;

    private final int nRanks;
    private final Map<Folded, Long> others = new HashMap<>();
    private final List<long[]> otherTerms = new ArrayList<>();

    /** By call and index, which everybody's result is compared with. */
    private final Map<Long, Long> byNode = new HashMap<>();

    /** Terms in an order; a fold that is the last is another term than one that is not. */
    @SuppressWarnings("ArrayRecordComponent") // compared by what is in it
    private record Folded(long[] terms, boolean last) {
        @Override
        public boolean equals(Object other) {
            return other instanceof Folded folded
                    && folded.last == last
                    && Arrays.equals(folded.terms, terms);
        }

        @Override
        public int hashCode() {
            return 31 * Arrays.hashCode(terms) + Boolean.hashCode(last);
        }
    }

    Terms(int nRanks) {
        this.nRanks = nRanks;
    }

    /** Element {@code index} of the input of {@code rank} in call {@code call}. */
    static long input(int call, int rank, long index) {
        return INPUT | (long) call << CALL_SHIFT | (long) rank << RANK_SHIFT | index;
    }

    /** What the chunks of a transfer say of it, which is a part of a collective, or of none. */
    static long header(long count, int elementBytes, int inside) {
        return HEADER | (long) inside << CALL_SHIFT | (long) elementBytes << RANK_SHIFT | count;
    }

    /** Element {@code index} of all ranks' inputs, folded once each in rank order. */
    static long folded(int call, long index) {
        return FOLDED | (long) call << CALL_SHIFT | index;
    }

    /** Element {@code index} of all ranks' inputs, folded node by node and then once more. */
    long foldedByNode(int call, Nodes nodes, long index) {
        long element = folded(call, index);
        Long known = byNode.get(element);
        if (known == null) {
            known = foldByNode(call, nodes, index);
            byNode.put(element, known);
        }
        return known;
    }

    private long foldByNode(int call, Nodes nodes, long index) {
        long[] sums = new long[nodes.count()];
        for (int node = 0; node < sums.length; node++) {
            int[] ranks = nodes.ranks(node);
            long[] inputs = IntStream.of(ranks).mapToLong(r -> input(call, r, index)).toArray();
            sums[node] = inputs.length == 1 ? inputs[0] : fold(inputs, false);
        }
        return fold(sums, true);
    }

    /**
     * The fold of these terms in this order.
     *
     * @param last as in {@link org.jccl.schedule.Step.Fold}
     */
    long fold(long[] terms, boolean last) {
        long step = 1L << RANK_SHIFT;
        boolean inOrder = last && terms.length == nRanks && terms[0] >>> KIND_SHIFT == 1;
        inOrder &= (terms[0] >>> RANK_SHIFT & 0x3ff) == 0;
        for (int r = 1; r < terms.length && inOrder; r++) {
            inOrder = terms[r] == terms[r - 1] + step;
        }
        if (inOrder) {
            return terms[0] - INPUT + FOLDED;
        }
        Folded folded = new Folded(terms, last);
        Long known = others.get(folded);
        if (known == null) {
            otherTerms.add(terms.clone());
            known = OTHER | (otherTerms.size() - 1);
            others.put(new Folded(otherTerms.getLast(), last), known);
        }
        return known;
    }

    /** A term in words. */
    String describe(long term) {
        long call = term >>> CALL_SHIFT & 0xffff;
        long index = term & (1L << RANK_SHIFT) - 1;
        return switch ((int) (term >>> KIND_SHIFT)) {
            case 0 -> "unwritten memory";
            case 1 ->
                    "call " + call + " rank " + (term >>> RANK_SHIFT & 0x3ff) + " [" + index + "]";
            case 2 -> "call " + call + " folded [" + index + "]";
            case 4 -> "a message of " + index + " elements, of collective " + call;
            default ->
                    LongStream.of(otherTerms.get((int) index))
                            .mapToObj(this::describe)
                            .collect(Collectors.joining(" + ", "(", ")"));
        };
    }
}
