package org.jccl.abi;

import org.jccl.comm.Comm;
import org.jccl.comm.Farewell;
import org.jccl.executor.Counters;
import org.jccl.log.Log;
import org.jccl.platform.ForkGuard;
import org.jccl.platform.Memory;
import org.jccl.type.ErrorKind;
import org.jccl.type.Operation;

import java.util.concurrent.atomic.AtomicBoolean;

/** The functions of {@code jccl.h} other than operations. */
final class Extras {
    private static final int BYTES_SELF = 16;
    private static final int BYTES_SHM = 17;
    private static final int BYTES_NET = 18;
    private static final int PAYLOAD = 24;

    private static final AtomicBoolean ENDS_WITH_HOST = new AtomicBoolean();

    private Extras() {}

    static void timeout(long handle, long timeoutMs) {
        if (timeoutMs < 0) {
            throw ErrorKind.TIME_LIMIT_NEGATIVE.says(
                    "CommOptions : timeout %s ms is negative; 0 is none", timeoutMs);
        }
        Handles.get(handle, "CommOptions").timeLimitMs(timeoutMs);
    }

    static void stats(long handle, long out, int n) {
        Counters counters = Handles.get(handle, "CommStats").executor().counters();
        Checked.pointer("CommStats", "out", out);
        for (int i = 0; i < n; i++) {
            Memory.putLong(out + 8L * i, value(counters, i));
        }
    }

    private static long value(Counters counters, int place) {
        return switch (place) {
            case BYTES_SELF -> counters.selfBytes();
            case BYTES_SHM -> counters.sharedMemoryBytes();
            case BYTES_NET -> counters.netBytes();
            default -> {
                Operation called = Operation.of(place);
                Operation paid = Operation.of(place - PAYLOAD);
                yield called != null
                        ? counters.calls(called)
                        : paid != null ? counters.payloadBytes(paid) : 0;
            }
        };
    }

    /** Says goodbye at the end of the process, however often this is asked for. */
    static void endWithHost() {
        if (ENDS_WITH_HOST.getAndSet(true)) {
            return;
        }
        Runnable leave =
                () -> {
                    Answer.done(0, Extras::shutdown);
                    ForkGuard.hostEnds();
                };
        try {
            Runtime.getRuntime().addShutdownHook(new Thread(leave, "jccl-leave"));
        } catch (IllegalStateException ending) {
            // Java ends already.
        }
    }

    static void shutdown() {
        for (Comm comm : Handles.all()) {
            comm.leaveAtExit();
        }
        Farewell.await(1000);
        Log.flush();
    }
}
