package org.jccl.machine.program;

import org.jccl.bootstrap.ListenerEnd;

/** Ends what a process keeps from one communicator to the next. */
public final class LeaveProgram implements Runnable {
    /** Needs nothing. */
    public LeaveProgram() {}

    @Override
    public void run() {
        ListenerEnd.now();
    }
}
