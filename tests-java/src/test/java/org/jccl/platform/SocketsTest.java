package org.jccl.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SocketsTest {
    private static final int WAIT_MS = 30_000;
    private static final short POLLERR = 8;
    private static final int EPIPE = 32;
    private static final int ECONNRESET = 104;

    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1:0", "[::1]:0"})
    void carriesBytesAndTheEndOfTheStream(String where) {
        SocketAddress bound = SocketAddress.parse(where);
        int listener = Sockets.socket(bound.isIpv6());
        assertEquals(0, Sockets.bind(listener, bound));
        assertEquals(0, Sockets.listen(listener, 8));
        assertEquals(-Errno.EAGAIN, Sockets.accept(listener));
        SocketAddress address = Sockets.localAddress(listener);
        int client = Sockets.socket(bound.isIpv6());
        int connecting = Sockets.connect(client, address);
        assertTrue(connecting == 0 || connecting == -Errno.EINPROGRESS, "connect " + connecting);
        assertEquals(Sockets.POLLIN, Sockets.pollOne(listener, Sockets.POLLIN, WAIT_MS));
        int server = Sockets.accept(listener);
        assertEquals(Sockets.POLLOUT, Sockets.pollOne(client, Sockets.POLLOUT, WAIT_MS));
        assertEquals(0, Sockets.connectResult(client));
        assertEquals(address, Sockets.remoteAddress(client));
        assertEquals(0, Sockets.setNoDelay(client));
        assertEquals(0, Sockets.setKeepAlive(client, 10, 5));
        assertEquals(0, Sockets.setUserTimeout(client, 30_000));
        exchange(client, server);
        Sockets.close(client);
        Sockets.close(server);
        Sockets.close(listener);
    }

    @Test
    void aPortFromWhichSomebodyHasConnectedCanBeBoundAtOnce() {
        int listener = Sockets.socket(false);
        assertEquals(0, Sockets.bind(listener, SocketAddress.parse("127.0.0.1:0")));
        assertEquals(0, Sockets.listen(listener, 8));
        int client = Sockets.socket(false);
        Sockets.connect(client, Sockets.localAddress(listener));
        Sockets.pollOne(listener, Sockets.POLLIN, WAIT_MS);
        int server = Sockets.accept(listener);
        SocketAddress from = Sockets.localAddress(client);
        // The side that closes first keeps the port for a minute, in TIME_WAIT.
        Sockets.close(client);
        Sockets.pollOne(server, Sockets.POLLIN, WAIT_MS);
        Sockets.close(server);
        int next = Sockets.socket(false);
        assertEquals(0, Sockets.bind(next, from));
        assertEquals(0, Sockets.listen(next, 8));
        Sockets.close(next);
        Sockets.close(listener);
    }

    private static void exchange(int client, int server) {
        try (SharedMemory memory = SharedMemory.anonymous(4_096)) {
            long at = memory.address();
            assertEquals(-Errno.EAGAIN, Sockets.recv(server, at, 8));
            Memory.putLong(at, 1);
            Memory.putLong(at + 64, 2);
            assertEquals(8, Sockets.send(client, at, 8));
            Memory.putRange(at + 256, at + 64, 8);
            Memory.putRange(at + 256 + Memory.RANGE_BYTES, at, 8);
            assertEquals(16, Sockets.sendRanges(client, at + 256, 2));
            Sockets.shutdown(client);
            long got = 0;
            while (got < 24) {
                Sockets.pollOne(server, Sockets.POLLIN, WAIT_MS);
                long received = Sockets.recv(server, at + 128 + got, 64);
                assertTrue(received > 0, "recv " + received);
                got += received;
            }
            assertEquals(1, Memory.getLong(at + 128));
            assertEquals(2, Memory.getLong(at + 136));
            assertEquals(1, Memory.getLong(at + 144));
            Sockets.pollOne(server, Sockets.POLLIN, WAIT_MS);
            assertEquals(0, Sockets.recv(server, at, 8));
        }
    }

    @Test
    void reportsARefusedConnection() {
        int probe = Sockets.socket(false);
        assertEquals(0, Sockets.bind(probe, SocketAddress.parse("127.0.0.1:0")));
        SocketAddress nobody = Sockets.localAddress(probe);
        int client = Sockets.socket(false);
        int result = Sockets.connect(client, nobody);
        if (result == -Errno.EINPROGRESS) {
            Sockets.pollOne(client, Sockets.POLLOUT, WAIT_MS);
            result = Sockets.connectResult(client);
        }
        assertEquals(-Errno.ECONNREFUSED, result);
        Sockets.close(client);
        Sockets.close(probe);
    }

    @Test
    void raisesNoSignalWhenThePeerHasGone() {
        SocketAddress bound = SocketAddress.parse("127.0.0.1:0");
        int listener = Sockets.socket(false);
        assertEquals(0, Sockets.bind(listener, bound));
        assertEquals(0, Sockets.listen(listener, 8));
        int client = Sockets.socket(false);
        Sockets.connect(client, Sockets.localAddress(listener));
        Sockets.pollOne(listener, Sockets.POLLIN, WAIT_MS);
        int server = Sockets.accept(listener);
        assertNotNull(Sockets.remoteAddress(server));
        Sockets.close(server);
        try (SharedMemory memory = SharedMemory.anonymous(4_096)) {
            Sockets.pollOne(client, Sockets.POLLIN, WAIT_MS);
            long result = Sockets.send(client, memory.address(), 8);
            while (result > 0) {
                Sockets.pollOne(client, POLLERR, 10);
                result = Sockets.send(client, memory.address(), 8);
            }
            assertTrue(result == -EPIPE || result == -ECONNRESET, "send " + result);
        }
        Sockets.close(client);
        Sockets.close(listener);
    }
}
