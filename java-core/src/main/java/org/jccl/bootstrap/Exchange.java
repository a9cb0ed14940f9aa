package org.jccl.bootstrap;

import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

/**
 * An out-of-band all-gather that may be repeated: {@link #begin}, {@link #advance} until it is
 * true, {@link #result}, and again. Used by one thread at a time.
 */
public interface Exchange extends AutoCloseable {
    /** Largest contribution of a rank to a round, in bytes. */
    int MAX_BLOB_BYTES = 64 * 1024;

    /** Starts a round with this rank's contribution; the one before must be complete. */
    void begin(byte[] mine);

    /**
     * Does what can be done without waiting.
     *
     * @return whether the round's result is there
     * @throws NcclException if the exchange has failed, with a sentence that names ranks; it stays
     *     failed
     */
    boolean advance();

    /**
     * This rank gives up. Where the exchange ends with that, all ranks learn the reason at once.
     *
     * @return false if the exchange goes on, so that the reason has to be contributed to a round
     */
    default boolean giveUp(NcclException why) {
        return false;
    }

    /** The last round's contributions, indexed by rank. */
    byte[][] result();

    /** The ranks that the round waits for, as far as this rank knows; empty if it does not. */
    default int[] missing() {
        return new int[0];
    }

    /**
     * Checks, while no round is under way, whether there can be another one.
     *
     * @param awaited ranks that this one waits for by other means, in ascending order
     * @throws NcclException if the exchange has failed, or one of those is lost
     */
    default void check(int[] awaited) {}

    /** The rank or process that cannot be reached yet, and why, for sentences; null if none. */
    default @Nullable String unreachable() {
        return null;
    }

    /** Blocks at most {@code maxMs} milliseconds, until {@link #advance} may get further. */
    default void awaitActivity(int maxMs) {}

    /** Leaves in good order; the other ranks' later rounds fail, naming this rank. */
    @Override
    default void close() {}
}
