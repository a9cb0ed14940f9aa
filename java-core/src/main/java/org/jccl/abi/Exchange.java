package org.jccl.abi;

import org.jspecify.annotations.Nullable;

import java.util.Map;
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

    /** The numbers of texts that rank 0 has given. */
    private final ConcurrentMap<String, Integer> numbers = new ConcurrentHashMap<>();

    /** How many texts each rank that has ended had given or taken, by rank. */
    private final ConcurrentMap<Integer, Integer> ended = new ConcurrentHashMap<>();

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
        numbers.put(text, number);
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

    /**
     * A rank has ended. If it is rank 0, there are no more texts.
     *
     * @param had how many texts it had given or taken
     */
    void end(int rank, int had) {
        ended.putIfAbsent(rank, had);
        if (rank == 0) {
            closed = true;
            texts.values().forEach(text -> text.complete(GuestApi.NO_MORE));
        }
    }

    /** A rank that has ended and never had this text; -1 if there is none. */
    int missed(String text) {
        Integer number = numbers.get(text);
        if (number != null) {
            for (Map.Entry<Integer, Integer> each : ended.entrySet()) {
                if (each.getValue() <= number) {
                    return each.getKey();
                }
            }
        }
        return -1;
    }
}
