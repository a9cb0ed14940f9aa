package org.jccl;

import org.jccl.type.ErrorKind;
import org.jccl.type.NcclConfig;
import org.jccl.type.NcclException;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** How a communicator behaves. Immutable; each method gives a changed copy. */
public final class Config {
    /** NCCL's defaults: blocking, without a name, with the time limit of {@code JCCL_TIMEOUT}. */
    public static final Config DEFAULT = new Config(NcclConfig.DEFAULT);

    final NcclConfig resolved;

    Config(NcclConfig resolved) {
        this.resolved = resolved;
    }

    /**
     * Whether a call returns only when its work is done. If not, init, split and operations return
     * at once, and {@link Communicator#asyncError} tells when they are done. {@code
     * NCCL_COMM_BLOCKING}, if it is set, decides instead.
     */
    public Config withBlocking(boolean blocking) {
        return new Config(resolved.withBlocking(blocking));
    }

    /** The name of the communicator in logs. */
    public Config withName(String name) {
        return new Config(resolved.withCommName(name));
    }

    /**
     * The time limit of one operation, after which it ends with TIMEOUT; zero for none, whatever
     * {@code JCCL_TIMEOUT} says.
     *
     * @throws NcclException with INVALID_ARGUMENT if it is negative or null
     */
    public Config withTimeout(Duration timeout) {
        Doors.required("Config.withTimeout", "timeout", timeout);
        if (timeout.isNegative()) {
            throw ErrorKind.TIME_LIMIT_NEGATIVE.says("a time limit of %s is negative", timeout);
        }
        long timeoutMs = timeout.isZero() ? 0 : Math.max(1, TimeUnit.MILLISECONDS.convert(timeout));
        return new Config(resolved.withTimeoutMs(timeoutMs));
    }

    /**
     * The node that this rank counts as, instead of {@code NCCL_HOSTID} and the machine's own name;
     * ranks of different nodes do not share memory. A split ignores it: its ranks stay on the nodes
     * of the parent.
     */
    public Config withHostId(String hostId) {
        return new Config(resolved.withHostId(hostId));
    }

    /**
     * The owner of the buffers, instead of {@code JCCL_DEVICE}: {@code host}, or a kind of device
     * with or without a number. All ranks must use one kind.
     */
    public Config withDevice(String device) {
        return new Config(resolved.withDevice(device));
    }
}
