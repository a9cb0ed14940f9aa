package org.jccl.comm;

import org.jccl.param.Params;
import org.jccl.type.NcclConfig;

/** A configuration as the environment and the defaults complete it. */
final class Settings {
    private Settings() {}

    static NcclConfig resolve(NcclConfig config) {
        NcclConfig resolved = config;
        Boolean blocking = Params.COMM_BLOCKING.get();
        if (blocking != null) {
            resolved = resolved.withBlocking(blocking);
        }
        if (resolved.timeoutMs() == 0) {
            resolved = resolved.withTimeoutMs(Params.TIMEOUT.getMs());
        }
        return resolved;
    }
}
