package org.jccl.bootstrap;

import org.jccl.harness.Deadline;
import org.jccl.type.NcclException;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Ranks as threads. */
final class Meeting {
    static final int SLICE_MS = 100;

    private Meeting() {}

    /** The work of one rank. */
    interface Role<T> {
        T play(int rank) throws Exception;
    }

    /** Runs all ranks at once and returns what each returned; a rank's exception is thrown. */
    static <T> List<T> of(int nRanks, Role<T> role) throws Exception {
        List<Callable<T>> calls = new ArrayList<>();
        for (int rank = 0; rank < nRanks; rank++) {
            int self = rank;
            calls.add(() -> role.play(self));
        }
        ExecutorService threads =
                Executors.newCachedThreadPool(
                        task -> {
                            Thread thread = new Thread(task, "rank");
                            thread.setDaemon(true);
                            return thread;
                        });
        try {
            List<T> results = new ArrayList<>();
            for (Future<T> each : threads.invokeAll(calls, Deadline.seconds(), TimeUnit.SECONDS)) {
                results.add(each.get());
            }
            return results;
        } finally {
            threads.shutdownNow();
        }
    }

    /** One complete round. */
    static byte[][] round(Exchange exchange, byte[] mine) {
        exchange.begin(mine);
        while (!exchange.advance()) {
            exchange.awaitActivity(SLICE_MS);
        }
        return exchange.result();
    }

    /** The failure that a round ends with. */
    static NcclException failure(Exchange exchange, byte[] mine) {
        try {
            round(exchange, mine);
        } catch (NcclException expected) {
            return expected;
        }
        throw new AssertionError("the round succeeded");
    }
}
