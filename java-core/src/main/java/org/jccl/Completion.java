package org.jccl;

import org.jccl.executor.Task;
import org.jccl.log.Log;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Completes the future of an operation. What users have attached to it runs in a virtual thread of
 * its own: it may wait for other operations, and the threads that end them must not.
 *
 * @param kept what must not be garbage-collected before the end
 */
record Completion(
        CompletableFuture<@Nullable Void> future,
        Task task,
        String identity,
        List<@Nullable Object> kept)
        implements Runnable {

    /** The future of a task that was started. */
    static CompletableFuture<@Nullable Void> of(
            Task task, String identity, @Nullable Object... kept) {
        Completion completion =
                new Completion(new CompletableFuture<>(), task, identity, Arrays.asList(kept));
        if (task.over()) {
            // Nobody has the future yet.
            completion.complete();
        } else {
            task.whenOver(completion);
        }
        return completion.future;
    }

    /** Called by the thread that ends the task, which may be any. */
    @Override
    public void run() {
        try {
            Thread.ofVirtual().name("jccl-future").start(this::complete);
        } catch (RuntimeException | Error e) {
            Log.survived("a future is completed without a thread for it: ", e);
            complete();
        }
    }

    private void complete() {
        NcclException failed = task.failure();
        if (failed == null) {
            future.complete(null);
        } else {
            future.completeExceptionally(failed.on(identity));
        }
    }
}
