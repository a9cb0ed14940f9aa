package org.jccl.machine.program;

import org.jccl.machine.Journal;

/** Aborts the communicator of another thread of its process. */
public final class AbortProgram implements Runnable {
    private final RankProgram rank;
    private final Journal journal;

    /** For this rank. */
    public AbortProgram(RankProgram rank, Journal journal) {
        this.rank = rank;
        this.journal = journal;
    }

    @Override
    public void run() {
        journal.struck();
        rank.abort();
        journal.aborted();
    }
}
