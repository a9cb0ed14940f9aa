package org.jccl.abi;

import org.jspecify.annotations.Nullable;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The texts that rank 0 of a team hands to the others: its first one, its second one and so on. */
final class Exchange {
    private final ConcurrentMap<Integer, CompletableFuture<String>> texts =
            new ConcurrentHashMap<>();

    /** Whether rank 0 has ended (volatile). */
    private volatile boolean closed;

    private CompletableFuture<String> text(int number) {
        CompletableFuture<String> text =
                texts.computeIfAbsent(number, absent -> new CompletableFuture<>());
        if (closed) {
            text.complete(GuestApi.NO_MORE);
        }
        return text;
    }

    void put(int number, String text) {
        text(number).complete(text);
    }

    /** The text; null if there is none yet after so many milliseconds. */
    @Nullable String get(int number, int ms) throws InterruptedException {
        try {
            return text(number).get(ms, TimeUnit.MILLISECONDS);
        } catch (TimeoutException none) {
            return null;
        } catch (ExecutionException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** Rank 0 gives no more. */
    void close() {
        closed = true;
        texts.values().forEach(text -> text.complete(GuestApi.NO_MORE));
    }
}
