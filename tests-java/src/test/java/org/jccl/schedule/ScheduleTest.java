package org.jccl.schedule;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.jccl.transport.RegionLayout;
import org.jccl.type.Operation;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

import java.util.List;

final class ScheduleTest {
    private static final Ref IN = new Ref(Space.IN, 0, 0);
    private static final Ref OUT = new Ref(Space.OUT, 0, 0);
    private static final Ref OWN = new Ref(Space.SMALL, 0, 0);
    private static final Ref PEERS = new Ref(Space.SMALL, 1, 0);

    @Test
    void refusesStepsThatAnotherRankMustDo() {
        assertRefused(() -> Rules.require(of(new Step.Put(IN, 8, PEERS, new int[] {1}))));
        assertRefused(() -> Rules.require(of(new Step.Put(PEERS, 8, OWN, new int[] {1}))));
        assertRefused(() -> Rules.require(of(new Step.Put(IN, 8, OWN, new int[] {0}))));
        assertRefused(() -> Rules.require(of(new Step.Put(IN, 8, OWN, new int[] {2}))));
        assertRefused(() -> Rules.require(of(new Step.Copy(PEERS, IN, 8))));
        assertRefused(() -> Rules.require(of(new Step.Copy(IN, PEERS, 8))));
        Ref callers = new Ref(Space.OUT, 1, 0);
        assertRefused(() -> Rules.require(of(new Step.Fold(OUT, List.of(IN, callers), 8, true))));
        assertRefused(() -> Rules.require(of(new Step.Wait(0, 0, 1))));
        assertDoesNotThrow(() -> Rules.require(of(new Step.Copy(OUT, PEERS, 8))));
    }

    @Test
    void refusesToReadBuffersOfOtherCallersThatAreNotReadable() {
        Schedule pulls = of(new Step.Copy(OUT, new Ref(Space.IN, 1, 0), 8));
        assertRefused(() -> Bounds.require(pulls, shape(Nodes.one(2))));
        Shape onNodes = shape(NamedNodes.of(new int[] {0, 1}).withReadableBuffers());
        assertRefused(() -> Bounds.require(pulls, onNodes));
        Shape readable = shape(Nodes.one(2).withReadableBuffers());
        assertDoesNotThrow(() -> Bounds.require(pulls, readable));
        Schedule ofOutput = of(new Step.Copy(OUT, new Ref(Space.OUT, 1, 0), 8));
        assertRefused(() -> Bounds.require(ofOutput, readable));
    }

    private static Shape shape(Nodes nodes) {
        return new Shape(Operation.ALL_REDUCE, nodes, 0, 4, 8, false, RegionLayout.limits(1));
    }

    @Test
    void refusesAFoldOfOneOrOfMoreThanThereAreRanks() {
        assertRefused(() -> Rules.require(of(new Step.Fold(OUT, List.of(IN), 8, true))));
        Step three = new Step.Fold(OUT, List.of(IN, PEERS, IN), 8, true);
        assertRefused(() -> Rules.require(of(three)));
        Step two = new Step.Fold(OUT, List.of(PEERS, IN), 8, true);
        assertDoesNotThrow(() -> Rules.require(of(two)));
    }

    @Test
    void refusesStepsThatDoNothing() {
        assertRefused(() -> Rules.require(of(new Step.Copy(OUT, PEERS, 0))));
        assertRefused(() -> Rules.require(of(new Step.Put(IN, 0, OWN, new int[] {1}))));
    }

    @Test
    void refusesFlagsThatDoNotGrow() {
        Step two = new Step.Signal(0, 2, new int[] {1});
        Step again = new Step.Signal(0, 2, new int[] {1});
        Step other = new Step.Signal(1, 1, new int[] {1});
        assertRefused(() -> Rules.require(signals(2, two, again)));
        assertRefused(() -> Rules.require(signals(1, two, other)));
        assertDoesNotThrow(() -> Rules.require(signals(2, two, other)));
    }

    private static Schedule signals(int sequenceNumbers, Step... steps) {
        return new Schedule(0, 3, List.of(steps), Schedule.Order.RANKS, sequenceNumbers);
    }

    @Test
    void refusesListsOfReadersThatAreEmptyOrOutOfOrder() {
        assertRefused(() -> Rules.require(signals(1, new Step.Signal(0, 1, new int[] {}))));
        assertRefused(() -> Rules.require(signals(1, new Step.Signal(0, 1, new int[] {2, 1}))));
        assertRefused(() -> Rules.require(signals(1, new Step.Signal(0, 1, new int[] {1, 1}))));
        assertDoesNotThrow(
                () -> Rules.require(signals(1, new Step.Signal(0, 1, new int[] {1, 2}))));
    }

    @Test
    void findsStepsOutsideOfBuffersAndAreas() {
        Shape shape =
                new Shape(
                        Operation.ALL_REDUCE, Nodes.one(2), 0, 4, 8, false, RegionLayout.limits(1));
        assertDoesNotThrow(() -> Bounds.require(of(new Step.Copy(OUT, IN, 32)), shape));
        assertRefused(() -> Bounds.require(of(new Step.Copy(OUT, IN, 40)), shape));
        assertRefused(() -> Bounds.require(of(new Step.Copy(OUT.plus(8), IN, 32)), shape));
        Ref end = OWN.plus(RegionLayout.limits(1).smallBytes() - 8);
        assertRefused(() -> Bounds.require(of(new Step.Put(IN, 16, end, new int[] {1})), shape));
        assertRefused(() -> Bounds.require(of(new Step.TinyFold(OUT, IN, 1024)), shape));
        assertRefused(
                () -> Bounds.require(of(new Step.Fold(OUT, List.of(IN, PEERS), 12, true)), shape));
        assertRefused(() -> Bounds.require(of(new Step.Wait(1, 8, 1)), shape));
    }

    @Test
    void onlyAWaitInALoopLooksBack() {
        Step back = new Step.Wait(1, 0, -1);
        Step loop = new Step.Loop(64, List.of(back));
        assertRefused(() -> Rules.require(of(back)));
        assertDoesNotThrow(() -> Rules.require(of(loop)));
        assertRefused(() -> Rules.require(of(new Step.Loop(64, List.of(loop)))));
    }

    @Test
    void aBuilderWaitsOnceForWhatItKnows() {
        ScheduleBuilder builder = new ScheduleBuilder(shape(Nodes.one(3)), 0);
        builder.await(1, 0, 3);
        builder.await(1, 0, 2);
        builder.await(1, 0, 3);
        builder.await(2, 0, 3);
        builder.await(1, 1, 1);
        builder.signal(0, 1);
        builder.put(IN, OWN, 0, 1);
        assertEquals(3, builder.build(Schedule.Order.RANKS, 3).steps().size());
    }

    private static Schedule of(Step step) {
        return new Schedule(0, 2, List.of(step), Schedule.Order.RANKS, 1);
    }

    private static void assertRefused(Executable executable) {
        assertThrows(IllegalArgumentException.class, executable);
    }
}
