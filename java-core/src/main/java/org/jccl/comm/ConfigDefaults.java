package org.jccl.comm;

import org.jccl.device.Device;
import org.jccl.device.Devices;
import org.jccl.param.Params;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclConfig;
import org.jspecify.annotations.Nullable;

/** Completes a configuration from the environment and the defaults. */
final class ConfigDefaults {
    private ConfigDefaults() {}

    static NcclConfig resolve(NcclConfig config) {
        Boolean blocking = Params.COMM_BLOCKING.get();
        return new NcclConfig(
                blocking == null ? config.blocking() : blocking,
                config.commName(),
                config.timeoutMs() == NcclConfig.UNSET ? Params.TIMEOUT.get() : config.timeoutMs(),
                config.hostId(),
                config.device() == null ? Params.DEVICE.text() : config.device());
    }

    /** The device of a communicator's buffers, null for the host. */
    static @Nullable Device device(NcclConfig resolved) {
        return Devices.open(resolved.device());
    }

    /** Refuses another device than the parent's. */
    static void requireParentsDevice(@Nullable NcclConfig child, @Nullable Device parents) {
        String text = child == null ? null : child.device();
        String kind = parents == null ? Devices.HOST : parents.kind();
        String name = parents == null ? Devices.HOST : parents.name();
        if (text != null && !text.equals(kind) && !text.equals(name)) {
            throw ErrorKind.DEVICE_UNKNOWN.says(
                    "a child of ncclCommSplit is where its parent is, on %s, not on %s",
                    name, text);
        }
    }
}
