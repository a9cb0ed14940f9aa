package org.jccl.embed;

import org.jccl.abi.Guest;

/** The Pythons of one job's ranks. Each rank's is used on that rank's thread, except to stop it. */
interface Interpreters {
    /**
     * Runs the program of a rank, whose thread calls this.
     *
     * @throws Exception if Python could not be started, or was killed
     */
    RankEnd run(int rank, Guest guest) throws Exception;

    /**
     * Asks the rank's program to stop, by an exception that it may be able to catch. This and
     * {@link #kill} run on threads of their own, and may take for ever.
     */
    void interrupt(int rank);

    /** Ends the rank's program, if that can be done. */
    void kill(int rank);

    /**
     * Frees what the rank held; its thread calls this at its end.
     *
     * @return whether no thread of the program goes on
     */
    boolean free(int rank);
}
