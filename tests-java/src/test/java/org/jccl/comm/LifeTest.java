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
final class LifeTest {
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
            Comm.create(Rendezvous.createId(), 2, 0, NcclConfig.DEFAULT.withBlocking(false)).comm();

    private Life in(CommState state) {
        Life life = new Life();
        if (state == CommState.FINALIZED) {
            assertTrue(life.change(CommState.INITIALIZING, CommState.READY, comm));
            assertTrue(life.change(CommState.READY, state, comm));
        } else if (state != CommState.INITIALIZING) {
            assertTrue(life.change(CommState.INITIALIZING, state, comm));
        }
        return life;
    }

    @Test
    void everyOtherEdgeIsRefusedAndLogged() {
        Set<String> taken = new TreeSet<>();
        for (CommState from : CommState.values()) {
            for (CommState to : CommState.values()) {
                Life life = in(from);
                LastError.set("");
                if (life.change(from, to, comm)) {
                    assertEquals(to, life.state);
                    assertEquals("", LastError.get());
                    taken.add(from + " " + to);
                } else {
                    assertEquals(from, life.state);
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
        Life life = in(CommState.DESTROYED);
        LastError.set("");
        assertFalse(life.change(CommState.INITIALIZING, CommState.READY, comm));
        assertEquals(CommState.DESTROYED, life.state);
        assertEquals("", LastError.get());
    }

    @Test
    void everyLifeEndsOnce() {
        LastError.set("");
        for (CommState state : CommState.values()) {
            Life life = in(state);
            assertEquals(state != CommState.DESTROYED, life.end(comm), state.name());
            assertFalse(life.end(comm), state.name());
            assertEquals(CommState.DESTROYED, life.state);
        }
        assertEquals("", LastError.get());
    }
}
