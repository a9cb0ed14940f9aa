package org.jccl.embed;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.List;

/**
 * A port for the store of torch.distributed, where rank 0 of a job listens. A socket that does not
 * listen keeps it from everybody who asks for any free port; who asks for this one, with {@code
 * SO_REUSEADDR} as torch does, gets it.
 */
final class StorePort implements AutoCloseable {
    private final Socket keeper = new Socket();

    StorePort() {
        try {
            keeper.setReuseAddress(true);
            keeper.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        } catch (IOException e) {
            close();
            throw new UncheckedIOException("no port for the store of torch.distributed", e);
        }
    }

    /** The variables by which torch finds it, in place of those of a launcher of this process. */
    List<String> variables() {
        return List.of(
                "MASTER_ADDR=" + keeper.getLocalAddress().getHostAddress(),
                "MASTER_PORT=" + keeper.getLocalPort(),
                "TORCHELASTIC_USE_AGENT_STORE=False");
    }

    @Override
    public void close() {
        try {
            keeper.close();
        } catch (IOException e) {
            throw new UncheckedIOException("the port of the store cannot be freed", e);
        }
    }
}
