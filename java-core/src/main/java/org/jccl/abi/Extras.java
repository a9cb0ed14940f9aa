package org.jccl.abi;

import org.jccl.comm.Comm;
import org.jccl.comm.Farewell;
import org.jccl.executor.Counters;
import org.jccl.log.Log;
import org.jccl.platform.ForkGuard;
import org.jccl.platform.Memory;
import org.jccl.progress.CommExecutor;
import org.jccl.reduce.Warmup;
import org.jccl.type.CallError;
import org.jccl.type.Operation;

/** The functions of {@code jccl.h} that are no operations, for {@link NcclApi}. */
final class Extras {
    private static final int BYTES_SELF = 16;
    private static final int BYTES_SHM = 17;
    private static final int BYTES_NET = 18;
    private static final int PAYLOAD = 24;

    private Extras() {}

    static int timeout(long handle, long timeoutMs) {
        try {
            if (timeoutMs < 0) {
                throw CallError.TIME_LIMIT_NEGATIVE.says(
                        "CommOptions : timeout %s ms is negative; 0 is none", timeoutMs);
            }
            Handles.get(handle, "CommOptions").timeLimitMs(timeoutMs);
            return NcclApi.SUCCESS;
        } catch (Throwable t) {
            return NcclApi.refused(t);
        }
    }

    static int interrupt(long handle) {
        try {
            Handles.get(handle, "CommInterrupt").interrupt();
            return NcclApi.SUCCESS;
        } catch (Throwable t) {
            return NcclApi.refused(t);
        }
    }

    static int stats(long handle, long out, int n) {
        try {
            CommExecutor executor = Handles.get(handle, "CommStats").executor();
            Checked.pointer("CommStats", "out", out);
            Counters counters = executor.counters();
            for (int i = 0; i < n; i++) {
                Memory.putLong(out + 8L * i, value(counters, i));
            }
            return NcclApi.SUCCESS;
        } catch (Throwable t) {
            return NcclApi.refused(t);
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

    static int warm(int ms) {
        try {
            Warmup.start();
            Warmup.await(ms);
            return NcclApi.SUCCESS;
        } catch (Throwable t) {
            return NcclApi.refused(t);
        }
    }

    static int endWithHost() {
        try {
            Runnable leave =
                    () -> {
                        shutdown();
                        ForkGuard.hostEnds();
                    };
            Runtime.getRuntime().addShutdownHook(new Thread(leave, "jccl-leave"));
            return NcclApi.SUCCESS;
        } catch (Throwable t) {
            return NcclApi.refused(t);
        }
    }

    static int shutdown() {
        try {
            for (Comm comm : Handles.all()) {
                comm.leaveAtExit();
            }
            Farewell.await(1000);
            Log.flush();
            return NcclApi.SUCCESS;
        } catch (Throwable t) {
            return NcclApi.failed(t);
        }
    }
}
