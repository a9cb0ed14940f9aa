package org.jccl.bootstrap;

import org.jccl.type.Sentence;

import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Says that connections were dropped: one line, and then none for some seconds however many
 * strangers come. Belongs to the thread jccl-net.
 */
final class DropLog {
    static final long QUIET_NS = 10_000_000_000L;

    private final Consumer<String> log;
    private boolean said;
    private long saidNs;
    private int unsaid;

    DropLog(Consumer<String> log) {
        this.log = log;
    }

    /**
     * A connection was dropped, or could not be accepted.
     *
     * @param what called only if the line is written, so that strangers cost little
     */
    void add(Supplier<String> what, long nowNs) {
        if (said && nowNs - saidNs < QUIET_NS) {
            unsaid++;
            return;
        }
        long sinceS = (nowNs - saidNs) / 1_000_000_000L;
        String more =
                unsaid == 0
                        ? ""
                        : Sentence.of(" (and %s more like it in the last %s s)", unsaid, sinceS);
        said = true;
        saidNs = nowNs;
        unsaid = 0;
        log.accept(what.get() + more);
    }
}
