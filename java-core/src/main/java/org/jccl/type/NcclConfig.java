package org.jccl.type;

import org.jspecify.annotations.Nullable;

/**
 * A communicator's configuration after resolution: the fields of {@code ncclConfig_t} that mean
 * something on host ranks, and JCCL's own.
 *
 * @param blocking whether calls return only when their work is done
 * @param splitShare accepted; a child of split shares nothing
 * @param commName shown in logs, or null
 * @param timeoutMs time limit of an operation in milliseconds, 0 for none
 */
public record NcclConfig(
        boolean blocking, boolean splitShare, @Nullable String commName, long timeoutMs) {
    /** NCCL's defaults: blocking, nothing shared, no name, no time limit. */
    public static final NcclConfig DEFAULT = new NcclConfig(true, false, null, 0);

    /** The same with another choice of blocking. */
    public NcclConfig withBlocking(boolean value) {
        return new NcclConfig(value, splitShare, commName, timeoutMs);
    }

    /** The same with another time limit in milliseconds, 0 for none. */
    public NcclConfig withTimeoutMs(long value) {
        return new NcclConfig(blocking, splitShare, commName, value);
    }

    /** The same with another name. */
    public NcclConfig withCommName(@Nullable String value) {
        return new NcclConfig(blocking, splitShare, value, timeoutMs);
    }
}
