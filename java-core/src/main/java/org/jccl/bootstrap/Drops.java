package org.jccl.bootstrap;

import java.util.Locale;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Says that connections were dropped: one line, and then none for some seconds however many
 * strangers come. Belongs to the thread jccl-net.
 */
final class Drops {
    static final long QUIET_NS = 10_000_000_000L;

    private final Consumer<String> log;
    private boolean said;
    private long saidNs;
    private int unsaid;

    Drops(Consumer<String> log) {
        this.log = log;
    }

    /**
     * A connection was dropped, or could not be accepted.
     *
     * @param what asked only if it is said: strangers shall cost little
     */
    void add(Supplier<String> what, long nowNs) {
        if (said && nowNs - saidNs < QUIET_NS) {
            unsaid++;
            return;
        }
        String more =
                unsaid == 0
                        ? ""
                        : String.format(
                                Locale.ROOT,
                                " (and %d more like it in the last %d s)",
                                unsaid,
                                (nowNs - saidNs) / 1_000_000_000L);
        said = true;
        saidNs = nowNs;
        unsaid = 0;
        log.accept(what.get() + more);
    }
}
