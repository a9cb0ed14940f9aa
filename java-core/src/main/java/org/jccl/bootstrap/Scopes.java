package org.jccl.bootstrap;

import org.jccl.param.Params;
import org.jccl.platform.Interfaces;
import org.jccl.platform.SocketAddress;

/** Link-local addresses of peers: their scope is a number that means something here only. */
final class Scopes {
    private Scopes() {}

    /** The address as this machine must write it. */
    static SocketAddress local(SocketAddress address) {
        if (!address.isLinkLocal()) {
            return address;
        }
        return Interfaces.select(Params.SOCKET_IFNAME.text(), "AF_INET6").stream()
                .map(each -> each.address())
                .filter(SocketAddress::isLinkLocal)
                .findFirst()
                .map(own -> address.withScope(own.scope()))
                .orElse(address);
    }
}
