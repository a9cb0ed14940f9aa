package org.jccl;

import org.jccl.comm.Comm;
import org.jccl.comm.DropJob;
import org.jccl.log.Log;
import org.jccl.platform.Threads;

import java.lang.ref.Cleaner;

/** Thread {@code jccl-cleaner}: ends communicators that their users have lost. */
final class Lost {
    private final Cleaner cleaner = Cleaner.create(body -> Threads.daemon("jccl-cleaner", body));

    /** Ends the communicator in the background once its user's object is garbage. */
    void watch(Object object, Comm comm) {
        cleaner.register(object, () -> end(comm));
    }

    /** Throws nothing, since nobody would hear it; there may be no thread to end it later. */
    private static void end(Comm comm) {
        try {
            DropJob.start(comm, () -> {});
        } catch (RuntimeException | Error e) {
            Log.survived("a lost communicator is aborted at once: ", e);
            comm.abort();
        }
    }
}
