package org.jccl.comm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.bootstrap.Rendezvous;
import org.jccl.log.LastError;
import org.jccl.type.NcclConfig;
import org.junit.jupiter.api.Test;

import java.util.Set;
import java.util.TreeSet;

/** The states of a communicator follow each other along the legal edges, and along no other. */
final class StateMachineTest {
    private static final Set<String> LEGAL =
            Set.of(
                    "INITIALIZING READY",
                    "INITIALIZING FAILED",
                    "INITIALIZING DESTROYED",
                    "READY FINALIZED",
                    "READY DESTROYED",
                    "FINALIZED DESTROYED",
                    "FAILED DESTROYED");

    private final Comm comm =
            Creation.init(Rendezvous.createId(), 2, 0, NcclConfig.DEFAULT.withBlocking(false))
                    .comm();

    private StateMachine in(CommState state) {
        StateMachine machine = new StateMachine(comm::identity);
        if (state == CommState.FINALIZED) {
            assertTrue(machine.change(CommState.INITIALIZING, CommState.READY));
            assertTrue(machine.change(CommState.READY, state));
        } else if (state != CommState.INITIALIZING) {
            assertTrue(machine.change(CommState.INITIALIZING, state));
        }
        return machine;
    }

    @Test
    void everyOtherEdgeIsRefusedAndLogged() {
        Set<String> taken = new TreeSet<>();
        for (CommState from : CommState.values()) {
            for (CommState to : CommState.values()) {
                StateMachine machine = in(from);
                LastError.set("");
                if (machine.change(from, to)) {
                    assertEquals(to, machine.state);
                    assertEquals("", LastError.get());
                    taken.add(from + " " + to);
                } else {
                    assertEquals(from, machine.state);
                    String edge = " is " + from.text() + " and cannot become " + to.text();
                    String said = LastError.get();
                    assertTrue(said.contains(comm.identity() + edge), said);
                }
            }
        }
        assertEquals(new TreeSet<>(LEGAL), taken);
    }

    /** Somebody else was faster. */
    @Test
    void anEdgeFromAnotherStateThanTheCurrentOneIsNotTaken() {
        StateMachine machine = in(CommState.DESTROYED);
        LastError.set("");
        assertFalse(machine.change(CommState.INITIALIZING, CommState.READY));
        assertEquals(CommState.DESTROYED, machine.state);
        assertEquals("", LastError.get());
    }

    @Test
    void everyLifeEndsOnce() {
        LastError.set("");
        for (CommState state : CommState.values()) {
            StateMachine machine = in(state);
            assertEquals(state != CommState.DESTROYED, machine.end(), state.name());
            assertFalse(machine.end(), state.name());
            assertEquals(CommState.DESTROYED, machine.state);
        }
        assertEquals("", LastError.get());
    }
}
