package org.jccl.collective;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.schedule.Bounds;
import org.jccl.schedule.Limits;
import org.jccl.schedule.NamedNodes;
import org.jccl.schedule.Nodes;
import org.jccl.schedule.Schedule;
import org.jccl.schedule.Shape;
import org.jccl.schedule.Step;
import org.jccl.transport.RegionLayout;
import org.jccl.type.Operation;
import org.jccl.type.Operation.Parts;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;

final class AlgorithmsTest {
    private static final List<Operation> COLLECTIVES =
            Stream.of(Operation.values()).filter(each -> !each.pointToPoint()).toList();

    /** The operations that send no byte to a node twice. */
    private static final List<Operation> RELAYED =
            List.of(
                    Operation.ALL_REDUCE,
                    Operation.ALL_GATHER,
                    Operation.REDUCE_SCATTER,
                    Operation.BROADCAST);

    /** For these operations a slot has an element for each rank. */
    private static final Set<Operation> MOVED_IN_PARTS =
            Set.of(Operation.ALL_TO_ALL, Operation.SCATTER);

    private static final int LARGEST_SLOT = RegionLayout.limits(1).ringSlotBytes();
    private static final long LARGE_BYTES = 3 << 20;
    private static final Nodes READABLE = Nodes.one(4).withReadableBuffers();
    private static final Nodes TWO_NODES = NamedNodes.of(new int[] {0, 0, 1, 1});

    @Test
    void regionHasEveryFlag() {
        assertTrue(RegionLayout.FLAG_COUNT > Flags.ENDED, "flags of a region");
    }

    @Test
    void placesOfARegionAreWholeLines() {
        for (int nodes = 1; nodes <= 2; nodes++) {
            Limits limits = RegionLayout.limits(nodes);
            int[] places = {
                limits.tinyBytes(),
                limits.smallBytes(),
                limits.directBytes(),
                limits.ringSlotBytes()
            };
            for (int bytes : places) {
                assertTrue(bytes > 0 && bytes % RegionLayout.LINE_BYTES == 0, bytes + " bytes");
            }
            assertTrue(limits.tinyBytes() <= limits.smallBytes(), "tiny messages fit small slots");
        }
    }

    @Test
    void ringAreaHasRoomForAllSlots() {
        long onOne = RegionLayout.ringAreaBytes(RegionLayout.limits(1));
        long onMany = RegionLayout.ringAreaBytes(RegionLayout.limits(2));
        assertTrue(onOne < onMany, "one node needs less");
        assertEquals(RegionLayout.RING_AREA_BYTES, onMany);
    }

    @Test
    void everyCallGetsAnAlgorithmThatStaysInsideItsBuffers() {
        for (Operation operation : COLLECTIVES) {
            for (int nRanks : new int[] {1, 2, 3, 4, 7, 8, 33}) {
                for (long count : new long[] {0, 1, 3, 100, 1023, 65537, 3 * (1 << 20) + 1}) {
                    for (int elementBytes : new int[] {1, 4, 8}) {
                        check(shape(operation, nRanks, count, elementBytes, false));
                        check(shape(operation, nRanks, count, elementBytes, true));
                        Nodes readable = Nodes.one(nRanks).withReadableBuffers();
                        check(shape(operation, readable, count, elementBytes, false));
                        check(shape(operation, readable, count, elementBytes, true));
                        check(shape(operation, pairs(nRanks), count, elementBytes, false));
                        check(shape(operation, pairs(nRanks), count, elementBytes, true));
                    }
                }
            }
        }
    }

    /** DIFFERENCES.md promises 65,536 ranks. */
    @Test
    void everyCallOfSixtyFiveThousandRanksOrFewerGetsAnAlgorithm() {
        for (Operation operation : COLLECTIVES) {
            for (int nRanks : new int[] {33, 2048, 2049, 4095, 4096, 4097, 8191, 65535, 65536}) {
                for (long bytes = 8; bytes <= 1L << 36; bytes += Math.max(8, bytes / 16 * 8)) {
                    for (int elementBytes : new int[] {1, 8}) {
                        long count = bytes / elementBytes;
                        Shape shape = shape(operation, nRanks, count, elementBytes, false);
                        boolean parts = MOVED_IN_PARTS.contains(operation);
                        if (parts && nRanks * elementBytes > LARGEST_SLOT) {
                            assertTrue(Algorithms.find(shape).isEmpty());
                            continue;
                        }
                        assertEquals(operation, Algorithms.choose(shape).operation());
                    }
                }
            }
        }
    }

    @Test
    void schedulesOfManyRanksStayInsideTheirBuffers() {
        checkMany(2049, 1, 100_000);
        checkMany(4097, 15);
    }

    @Tag("stress")
    @Test
    void schedulesOfManyRanksStayInsideTheirBuffersWithAnyCount() {
        checkMany(2049, 15);
        checkMany(4097, 1, 100_000);
    }

    private static void checkMany(int nRanks, long... counts) {
        for (Operation operation : COLLECTIVES) {
            boolean ofAll = operation.in() == Parts.EACH || operation.out() == Parts.EACH;
            for (long count : counts) {
                long each = ofAll ? count / nRanks + 1 : count;
                check(shape(operation, nRanks, each, 8, false));
                check(shape(operation, nRanks, each, 8, true));
                check(shape(operation, pairs(nRanks), each, 8, true));
            }
        }
    }

    /** Two ranks a node. */
    private static Nodes pairs(int nRanks) {
        return NamedNodes.of(IntStream.range(0, nRanks).map(r -> r / 2).toArray());
    }

    private static void check(Shape shape) {
        Algorithm algorithm = Algorithms.choose(shape);
        int last = shape.nRanks() - 1;
        Schedule first = algorithm.schedule(shape, 0);
        for (int rank : new int[] {0, last / 2, last}) {
            Schedule schedule = algorithm.schedule(shape, rank);
            Bounds.require(schedule, shape);
            assertEquals(first.sequenceNumbers(), schedule.sequenceNumbers(), shape.toString());
        }
    }

    @Test
    void everyAlgorithmIsChosenForSomeCall() {
        Set<Algorithm> chosen = new HashSet<>();
        for (Operation operation : COLLECTIVES) {
            for (long count = 1; count < 1 << 24; count *= 2) {
                chosen.add(Algorithms.choose(shape(operation, 4, count, 4, false)));
                chosen.add(Algorithms.choose(shape(operation, 5000, count, 4, false)));
                chosen.add(Algorithms.choose(shape(operation, TWO_NODES, count, 4, false)));
                chosen.add(Algorithms.choose(shape(operation, READABLE, count, 4, false)));
            }
        }
        assertEquals(new HashSet<>(Algorithms.all()), chosen);
    }

    @Test
    void largeCopiesOfOneNodeWhoseBuffersAreReadableAreMadeOnce() {
        for (Operation operation : COLLECTIVES) {
            boolean copies = !operation.reduces();
            assertFalse(isPulled(shape(operation, READABLE, 60_000, 4, false)));
            assertEquals(copies, isPulled(shape(operation, READABLE, 1_200_000, 4, false)));
            assertFalse(isPulled(shape(operation, Nodes.one(4), 300_000, 4, false)));
        }
        assertFalse(isPulled(shape(Operation.ALL_TO_ALL, READABLE, 300_000, 4, true)));
    }

    private static boolean isPulled(Shape shape) {
        return Algorithms.choose(shape).name().endsWith("Pulled");
    }

    @Test
    void largeCallsOfSeveralNodesAreHierarchical() {
        for (Operation operation : RELAYED) {
            assertFalse(isHierarchical(shape(operation, TWO_NODES, 1000, 4, false)));
            assertTrue(isHierarchical(shape(operation, TWO_NODES, 5000, 4, false)));
            assertFalse(isHierarchical(shape(operation, 4, 5000, 4, false)));
            Nodes ofOne = NamedNodes.of(new int[] {3, 2, 1, 0});
            assertFalse(isHierarchical(shape(operation, ofOne, 5000, 4, false)));
        }
    }

    @Test
    void allReducesAmongManyFarRanksSendFewMessages() {
        int[] four = IntStream.range(0, 16).map(r -> r / 4).toArray();
        Nodes nodes = NamedNodes.of(four);
        for (long bytes : new long[] {8, 4096, 16_384}) {
            Shape shape = shape(Operation.ALL_REDUCE, nodes, bytes, 1, false);
            assertTrue(isHierarchical(shape), bytes + " bytes");
            // The three sums of the other nodes, and the result to each.
            assertEquals(6, messages(shape));
        }
        assertEquals(2 * 6, messages(shape(Operation.ALL_REDUCE, nodes, 16_385, 1, false)));
        // One owner on each node, and no two of them have the same agents.
        Shape longer = shape(Operation.ALL_REDUCE, nodes, 65_536, 1, false);
        assertEquals(4 * 6, messages(longer));
        assertEquals(1, LongStream.of(sentByNode(longer)).distinct().count());
        assertTrue(LongStream.of(sentByRank(longer)).allMatch(sent -> sent > 0));
        assertEquals(16 * 6, messages(shape(Operation.ALL_REDUCE, nodes, 1 << 20, 1, false)));
        assertFalse(isHierarchical(shape(Operation.ALL_REDUCE, pairs(4), 8, 1, false)));
        assertTrue(isHierarchical(shape(Operation.ALL_REDUCE, pairs(6), 8, 1, false)));
    }

    /** How many puts of a call go to other nodes. */
    private static int messages(Shape shape) {
        int messages = 0;
        for (int r = 0; r < shape.nRanks(); r++) {
            int node = shape.nodes().of(r);
            for (Step step : Algorithms.choose(shape).schedule(shape, r).steps()) {
                if (step instanceof Step.Put put) {
                    IntStream readers = IntStream.of(put.readers());
                    messages += (int) readers.filter(q -> shape.nodes().of(q) != node).count();
                }
            }
        }
        return messages;
    }

    private static boolean isHierarchical(Shape shape) {
        return Algorithms.choose(shape).name().endsWith("Hierarchical");
    }

    @Test
    void aNodeSendsNoMoreThanItMust() {
        Nodes equal = NamedNodes.of(new int[] {0, 0, 0, 1, 1, 1, 2, 2, 2});
        Nodes unequal = NamedNodes.of(new int[] {0, 0, 1, 1, 1, 1, 2, 2, 2});
        for (Operation operation : RELAYED) {
            double times = operation == Operation.ALL_REDUCE ? 2 : 1;
            // Every byte goes to each other node once, in an all-reduce twice.
            long all = LongStream.of(sentByNode(large(operation, unequal))).sum();
            assertTrue(all <= times * 2 * LARGE_BYTES * 1.001, operation + " sends " + all);
            // Equal nodes share that; in a broadcast each node passes all bytes on.
            double share = operation == Operation.BROADCAST ? 1 : times * 2 / 3;
            for (long sent : sentByNode(large(operation, equal))) {
                assertTrue(sent <= share * LARGE_BYTES * 1.001, operation + " sends " + sent);
            }
        }
    }

    private static Shape large(Operation operation, Nodes nodes) {
        boolean whole = operation == Operation.ALL_REDUCE || operation == Operation.BROADCAST;
        return shape(operation, nodes, LARGE_BYTES / (whole ? 1 : nodes.nRanks()), 1, false);
    }

    /** Bytes that each node puts for other nodes. */
    private static long[] sentByNode(Shape shape) {
        Nodes nodes = shape.nodes();
        long[] sent = new long[nodes.count()];
        long[] byRank = sentByRank(shape);
        for (int r = 0; r < nodes.nRanks(); r++) {
            sent[nodes.of(r)] += byRank[r];
        }
        return sent;
    }

    /** Bytes that each rank puts for other nodes. */
    private static long[] sentByRank(Shape shape) {
        Nodes nodes = shape.nodes();
        long[] sent = new long[nodes.nRanks()];
        for (int r = 0; r < nodes.nRanks(); r++) {
            for (Step step : Algorithms.choose(shape).schedule(shape, r).steps()) {
                if (step instanceof Step.Put put) {
                    for (int q : put.readers()) {
                        sent[r] += nodes.of(q) != nodes.of(r) ? put.length() : 0;
                    }
                }
            }
        }
        return sent;
    }

    @Test
    void whatIsLargerNeverGetsTheAlgorithmOfTheSmaller() {
        for (Operation operation : COLLECTIVES) {
            for (int nRanks : new int[] {2, 3, 8, 33}) {
                int at = 0;
                for (long count = 1; count < 1 << 24; count += 1 + count / 3) {
                    var algorithm = Algorithms.choose(shape(operation, nRanks, count, 4, false));
                    int now = Algorithms.all().indexOf(algorithm);
                    assertTrue(now >= at, operation + " of " + count + " at " + nRanks);
                    at = now;
                }
            }
        }
    }

    @Test
    void anEmptyCallDoesNothing() {
        for (Operation operation : COLLECTIVES) {
            Shape shape = shape(operation, 4, 0, 4, false);
            Schedule schedule = Algorithms.choose(shape).schedule(shape, 2);
            assertEquals(List.of(), schedule.steps());
            assertEquals(0, schedule.sequenceNumbers());
        }
    }

    @Test
    void oneRankCopiesUnlessItIsInPlace() {
        for (Operation operation : COLLECTIVES) {
            Shape apart = shape(operation, 1, 1 << 20, 4, false);
            List<Step> steps = Algorithms.choose(apart).schedule(apart, 0).steps();
            assertEquals(1, steps.size());
            assertTrue(steps.getFirst() instanceof Step.Copy);
            Shape inPlace = shape(operation, 1, 1 << 20, 4, true);
            assertEquals(List.of(), Algorithms.choose(inPlace).schedule(inPlace, 0).steps());
        }
    }

    @Test
    void aChunkOfTwoRanksTakesFewSteps() {
        assertEquals(8, stepsPerChunk(Operation.ALL_REDUCE, "FoldSliced", 2));
        assertEquals(5, stepsPerChunk(Operation.ALL_GATHER, "CopyChunked", 2));
        assertEquals(4, stepsPerChunk(Operation.REDUCE_SCATTER, "FoldSliced", 2));
        assertEquals(4, stepsPerChunk(Operation.BROADCAST, "CopyChunked", 2));
    }

    @Test
    void aChunkOfMoreRanksTakesFourOrLessStepsMorePerRank() {
        assertEquals(8 + 4 * 6, stepsPerChunk(Operation.ALL_REDUCE, "FoldSliced", 8));
        assertEquals(5 + 2 * 6, stepsPerChunk(Operation.ALL_GATHER, "CopyChunked", 8));
        assertEquals(4 + 2 * 6, stepsPerChunk(Operation.REDUCE_SCATTER, "FoldSliced", 8));
        assertEquals(4 + 6, stepsPerChunk(Operation.BROADCAST, "CopyChunked", 8));
    }

    /** How many more steps the root, rank 0, has in a call of 20 chunks than in one of 19. */
    private static int stepsPerChunk(Operation operation, String name, int nRanks) {
        Algorithm algorithm =
                Algorithms.all().stream()
                        .filter(a -> a.operation() == operation && a.name().equals(name))
                        .findAny()
                        .orElseThrow();
        long slot = RegionLayout.limits(1).ringSlotBytes();
        long perChunk = operation == Operation.REDUCE_SCATTER ? slot / nRanks : slot;
        Shape shape = shape(operation, nRanks, 19 * perChunk / 4, 4, false);
        Shape longer = shape(operation, nRanks, 20 * perChunk / 4, 4, false);
        return algorithm.schedule(longer, 0).steps().size()
                - algorithm.schedule(shape, 0).steps().size();
    }

    @Test
    void whatDoesNotFitIsRefused() {
        Shape large = shape(Operation.ALL_REDUCE, 2, 1 << 20, 4, false);
        Algorithm tiny = Algorithms.all().getFirst();
        assertFalse(tiny.supports(large));
        assertThrows(IllegalArgumentException.class, () -> tiny.schedule(large, 0));
        Shape gather = shape(Operation.ALL_GATHER, 2, 1, 4, false);
        assertFalse(tiny.supports(gather));
    }

    private static Shape shape(
            Operation operation, int nRanks, long count, int elementBytes, boolean inPlace) {
        return shape(operation, Nodes.one(nRanks), count, elementBytes, inPlace);
    }

    private static Shape shape(
            Operation operation, Nodes nodes, long count, int elementBytes, boolean inPlace) {
        Limits limits = RegionLayout.limits(nodes.count());
        return new Shape(operation, nodes, 0, count, elementBytes, inPlace, limits);
    }
}
