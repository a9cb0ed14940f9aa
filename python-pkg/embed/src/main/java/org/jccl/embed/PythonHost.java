package org.jccl.embed;

/** A Python of this Java VM in which programs run as ranks that find each other. */
public sealed interface PythonHost extends AutoCloseable permits GraalPyHost, JepHost {
    /**
     * Runs a job to its end: each rank on a thread of its own, in a context or an interpreter of
     * its own. {@code jccl.core.Communicator.from_env()} is the communicator of all of them. A rank
     * that returns, exits by sys.exit, raises or is stopped takes no other one with it: peers that
     * wait for it get an error that names it. What ends the process ends all ranks, and Java:
     * os._exit, a signal, or a fault in native code.
     *
     * @return how each rank has ended
     * @throws InterruptedException if this thread is interrupted, after all ranks have been stopped
     */
    JobEnd run(PythonJob job) throws InterruptedException;

    /** Frees what the host holds. No job may run. */
    @Override
    void close();
}
