package org.jccl.bootstrap;

import org.jccl.platform.SocketAddress;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Sits between connectors and a listener, records what connectors say, and can cut them off. */
final class Tap implements AutoCloseable {
    private static final int READ_LIMIT_MS = 60_000;

    private final ServerSocket server;
    private final SocketAddress target;
    private final List<Socket> sockets = new CopyOnWriteArrayList<>();
    private final ByteArrayOutputStream recorded = new ByteArrayOutputStream();

    Tap(SocketAddress target) throws IOException {
        this.target = target;
        server = new ServerSocket(0, 16, InetAddress.getByAddress(new byte[] {127, 0, 0, 1}));
        start(this::accept);
    }

    /** The same id, but with the address of this tap. */
    IdContent lead(IdContent id) {
        return new IdContent(address(), id.number(), id.secret());
    }

    /** Where connectors find it. */
    SocketAddress address() {
        byte[] here = server.getInetAddress().getAddress();
        return new SocketAddress(here, server.getLocalPort(), 0);
    }

    /** -1 when the other side has ended the connection, by a reset too; else what it said. */
    static int readUntilEnd(Socket socket) throws IOException {
        try {
            return socket.getInputStream().read();
        } catch (SocketException reset) {
            return -1;
        }
    }

    /** All that connectors have said. */
    synchronized byte[] recorded() {
        return recorded.toByteArray();
    }

    /** Ends all connections as the death of a process does. */
    void cut() throws IOException {
        for (Socket each : sockets) {
            each.close();
        }
    }

    static Socket connect(SocketAddress address) throws IOException {
        Socket socket = new Socket();
        InetAddress host = InetAddress.getByAddress(address.address());
        socket.connect(new InetSocketAddress(host, address.port()));
        // A read that never ends must fail its test.
        socket.setSoTimeout(READ_LIMIT_MS);
        return socket;
    }

    private void accept() throws IOException {
        while (true) {
            Socket from = server.accept();
            Socket to = connect(target);
            sockets.add(from);
            sockets.add(to);
            start(() -> copy(from, to, true));
            start(() -> copy(to, from, false));
        }
    }

    private void copy(Socket from, Socket to, boolean record) throws IOException {
        InputStream in = from.getInputStream();
        OutputStream out = to.getOutputStream();
        byte[] buffer = new byte[4096];
        for (int n = in.read(buffer); n > 0; n = in.read(buffer)) {
            if (record) {
                record(buffer, n);
            }
            out.write(buffer, 0, n);
        }
        to.shutdownOutput();
    }

    private synchronized void record(byte[] buffer, int n) {
        recorded.write(buffer, 0, n);
    }

    private interface Work {
        void run() throws IOException;
    }

    private static void start(Work work) {
        Thread thread =
                new Thread(
                        () -> {
                            try {
                                work.run();
                            } catch (IOException cutOff) {
                                // As intended.
                            }
                        },
                        "tap");
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() throws IOException {
        server.close();
        cut();
    }
}
