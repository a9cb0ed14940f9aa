package org.jccl.type;

import org.jspecify.annotations.Nullable;

/**
 * A communicator's configuration: the fields of {@code ncclConfig_t} that mean something on host
 * ranks, and JCCL's own.
 *
 * @param blocking whether calls return only when their work is done
 * @param commName shown in logs, or null
 * @param timeoutMs time limit of an operation in milliseconds, 0 for none, {@link #UNSET} for that
 *     of JCCL_TIMEOUT
 * @param hostId which node to count as, or null for NCCL_HOSTID and then the machine's own name;
 *     ranks with different ones do not share memory
 * @param device what the buffers belong to, as in JCCL_DEVICE, or null for what that says
 */
public record NcclConfig(
        boolean blocking,
        @Nullable String commName,
        long timeoutMs,
        @Nullable String hostId,
        @Nullable String device) {
    /** What JCCL_TIMEOUT says is the time limit. */
    public static final long UNSET = -1;

    /** NCCL's defaults: blocking, no name, and the time limit of the environment. */
    public static final NcclConfig DEFAULT = new NcclConfig(true, null, UNSET, null, null);

    /** The same with another choice of blocking. */
    public NcclConfig withBlocking(boolean value) {
        return new NcclConfig(value, commName, timeoutMs, hostId, device);
    }

    /** The same with another time limit in milliseconds, 0 for none. */
    public NcclConfig withTimeoutMs(long value) {
        return new NcclConfig(blocking, commName, value, hostId, device);
    }

    /** The same with another name. */
    public NcclConfig withCommName(@Nullable String value) {
        return new NcclConfig(blocking, value, timeoutMs, hostId, device);
    }

    /** The same on another node. */
    public NcclConfig withHostId(@Nullable String value) {
        return new NcclConfig(blocking, commName, timeoutMs, value, device);
    }

    /** The same on another device. */
    public NcclConfig withDevice(@Nullable String value) {
        return new NcclConfig(blocking, commName, timeoutMs, hostId, value);
    }
}
