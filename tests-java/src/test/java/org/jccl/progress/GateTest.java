package org.jccl.progress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

/** The gate lets threads touch a communicator's memory, until it is closed. */
final class GateTest {
    private final Gate gate = new Gate(2);

    @Test
    void hasOneOwner() {
        assertTrue(gate.tryOwn());
        assertFalse(gate.tryOwn());
        gate.release();
        assertTrue(gate.tryOwn());
    }

    @Test
    void countsItsVisitors() {
        assertTrue(gate.enter());
        assertTrue(gate.enter());
        assertEquals(2, gate.visitors());
        gate.leave();
        gate.leave();
        assertEquals(0, gate.visitors());
    }

    @Test
    void letsNobodyInOnceItIsClosed() {
        assertTrue(gate.enter());
        gate.close();
        assertFalse(gate.enter());
        assertEquals(1, gate.visitors());
        gate.leave();
        assertEquals(0, gate.visitors());
    }

    @Test
    void isAttendedByOneThread() {
        assertTrue(gate.startAttending());
        assertFalse(gate.startAttending());
        gate.stopAttending();
        assertTrue(gate.startAttending());
    }

    @Test
    void knowsTheLastOneWhoWaits() {
        gate.startWaiting();
        gate.startWaiting();
        assertFalse(gate.stopWaiting());
        assertTrue(gate.waiting());
        assertTrue(gate.stopWaiting());
        assertFalse(gate.waiting());
    }

    @Test
    void rankIsSleptOnUntilItsLastSleeperIsAwake() {
        assertEquals(List.of(), sleptOn());
        gate.startSleeping(1);
        gate.startSleeping(1);
        gate.startSleeping(0);
        assertEquals(List.of(0, 1), sleptOn());
        gate.stopSleeping(0);
        gate.stopSleeping(1);
        assertEquals(List.of(1), sleptOn());
        assertTrue(gate.anySleeper());
        gate.stopSleeping(1);
        assertEquals(List.of(), sleptOn());
        assertFalse(gate.anySleeper());
    }

    private List<Integer> sleptOn() {
        List<Integer> ranks = new ArrayList<>();
        gate.forEachSleptOn(ranks::add);
        return ranks;
    }
}
