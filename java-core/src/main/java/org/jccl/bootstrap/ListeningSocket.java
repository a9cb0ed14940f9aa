package org.jccl.bootstrap;

import org.jccl.log.Log;
import org.jccl.log.Subsystem;
import org.jccl.param.Params;
import org.jccl.platform.Errno;
import org.jccl.platform.Interfaces;
import org.jccl.platform.Interfaces.Interface;
import org.jccl.platform.SocketAddress;
import org.jccl.platform.Sockets;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

/** A socket that accepts connections. Belongs to the thread jccl-net. */
final class ListeningSocket extends Pollable {
    private static final int BACKLOG = 4096;

    private final Listener listener;

    /** The only root that is met here, or null for all of this process. */
    private final @Nullable Root root;

    ListeningSocket(Listener listener, int fd, @Nullable Root root) {
        super(fd);
        this.listener = listener;
        this.root = root;
    }

    /**
     * A socket that listens at an address of this process's choice.
     *
     * @throws NcclException with INVALID_USAGE or SYSTEM_ERROR if no interface or port can be had
     */
    static int open() {
        Interface chosen =
                Interfaces.select(Params.SOCKET_IFNAME.text(), Params.SOCKET_FAMILY.text())
                        .getFirst();
        int[] range = Params.PORT_RANGE.get();
        int port = range == null ? 0 : range[0];
        int fd = open(chosen.address().withPort(port));
        while (fd == -Errno.EADDRINUSE && range != null && port < range[1]) {
            port++;
            fd = open(chosen.address().withPort(port));
        }
        if (fd < 0) {
            throw ErrorKind.CANNOT_LISTEN.says(
                    "cannot listen on %s: %s%s",
                    chosen, Errno.text(-fd), range == null ? "" : rangeText(range, -fd));
        }
        Log.info(
                Subsystem.BOOTSTRAP,
                "Bootstrap: Using %s, listening on %s",
                chosen.name(),
                Sockets.localAddress(fd));
        return fd;
    }

    private static String rangeText(int[] bounds, int errno) {
        String range = "JCCL_PORT_RANGE " + bounds[0] + "-" + bounds[1];
        return errno == Errno.EADDRINUSE
                ? "; all ports of " + range + " are taken: each process needs one, widen the range"
                : "; the port is the first of " + range + " that was tried and not taken";
    }

    /** A socket that listens at this address, or -errno. */
    static int open(SocketAddress address) {
        int fd = Sockets.socket(address.isIpv6());
        if (fd < 0) {
            return fd;
        }
        int result = Sockets.bind(fd, address);
        if (result == 0) {
            result = Sockets.listen(fd, BACKLOG);
        }
        if (result < 0) {
            Sockets.close(fd);
            return result;
        }
        return fd;
    }

    /** Takes what waits there. */
    @Override
    void ready(long nowNs) {
        while (!done() && !rests()) {
            if (!listener.unproven.hasRoom(nowNs)) {
                rest(nowNs);
                return;
            }
            int accepted = Sockets.accept(fd);
            if (accepted >= 0) {
                listener.accepts();
                listener.unproven.add(accepted, root, nowNs);
            } else if (accepted == -Errno.EAGAIN) {
                listener.accepts();
                return;
            } else if (accepted != -Errno.EINTR && accepted != -Errno.ECONNABORTED) {
                listener.cannotAccept(root, Errno.text(-accepted), nowNs);
                rest(nowNs);
            }
        }
    }

    /** Nobody could connect without it: after a failure, which may be a shortage, it rests. */
    @Override
    void failed(Throwable why, long nowNs) {
        rest(nowNs);
    }
}
