package org.jccl;

import org.jccl.executor.Task;
import org.jccl.log.Log;
import org.jccl.type.NcclException;
import org.jccl.type.Unforeseen;
import org.jspecify.annotations.Nullable;

import java.lang.ref.Reference;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Completes the future of an operation. What users have attached to it runs in a virtual thread of
 * its own: it may wait for other operations, and the threads that end them must not.
 */
final class Completion implements Runnable {
    private final CompletableFuture<@Nullable Void> future = new CompletableFuture<>();
    private final Task task;
    private final String identity;

    /** What must not be garbage-collected before the end. */
    private final List<@Nullable Object> kept;

    /**
     * The thread that starts the operation, until it hands out the future. Only that thread writes
     * it, and the others ask only whether they are it: none of them ever is (plain).
     */
    private @Nullable Thread starter = Thread.currentThread();

    /**
     * Waits for the end of a task that is not submitted yet: afterwards nothing may fail before the
     * operation has its future.
     */
    Completion(Task task, String identity, @Nullable Object... kept) {
        this.task = task;
        this.identity = identity;
        this.kept = Arrays.asList(kept);
        task.whenOver(this);
    }

    /** The future of the task, which was submitted. */
    CompletableFuture<@Nullable Void> handOut() {
        starter = null;
        return future;
    }

    /** Called by the thread that ends the task, which may be any. */
    @Override
    public void run() {
        if (Thread.currentThread().equals(starter)) {
            // Nobody has the future yet.
            complete();
            return;
        }
        try {
            Thread.ofVirtual()
                    .name("jccl-future")
                    .inheritInheritableThreadLocals(false)
                    .start(this::complete);
        } catch (RuntimeException | Error e) {
            complete();
            Log.survived("a future is completed without a thread for it: ", e);
        }
    }

    private void complete() {
        NcclException failed = task.failure();
        try {
            if (failed == null) {
                future.complete(null);
            } else {
                future.completeExceptionally(failed.on(identity));
            }
        } catch (RuntimeException | Error e) {
            // Those who wait for it must not wait for ever. It may be complete already.
            future.completeExceptionally(failed == null ? Unforeseen.TORN : failed);
        } finally {
            Reference.reachabilityFence(kept);
        }
    }
}
