package org.jccl.bootstrap;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.harness.Deadline;
import org.jccl.platform.Memory;
import org.jccl.platform.SharedMemory;
import org.jccl.platform.SocketAddress;
import org.jccl.platform.Sockets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.Socket;
import java.util.Arrays;
import java.util.stream.IntStream;

@ExtendWith(Deadline.class)
class LinkSetupTest {
    @ParameterizedTest
    @ValueSource(ints = {2, 3, 8})
    void connectsEveryPairOnce(int n) throws Exception {
        byte[] key = Keys.random(Keys.BYTES);
        byte[] number = Keys.random(16);
        SocketAddress[] where = addresses(n);
        Meeting.of(
                n,
                rank -> {
                    int[] peers = IntStream.range(0, n).filter(peer -> peer != rank).toArray();
                    try (LinkSetup links = new LinkSetup(key, number, rank, where, peers)) {
                        complete(links);
                        for (int peer : peers) {
                            greet(links.descriptor(peer), rank, peer);
                        }
                    }
                    return rank;
                });
    }

    @Test
    void waitsForAPeerThatComesLater() throws Exception {
        byte[] key = Keys.random(Keys.BYTES);
        byte[] number = Keys.random(16);
        SocketAddress[] where = addresses(2);
        try (LinkSetup early = new LinkSetup(key, number, 0, where, new int[] {1})) {
            for (int i = 0; i < 20; i++) {
                assertFalse(early.advance());
                early.awaitActivity(10);
            }
            assertArrayEquals(new int[] {1}, early.missing());
            try (LinkSetup late = new LinkSetup(key, number, 1, where, new int[] {0})) {
                while (!(early.advance() && late.advance())) {
                    early.awaitActivity(1);
                }
                assertEquals(0, early.missing().length);
                assertEquals(0, late.missing().length);
                Sockets.close(early.descriptor(1));
                Sockets.close(late.descriptor(0));
            }
        }
    }

    @Test
    void keepsCommunicatorsApart() throws Exception {
        SocketAddress[] where = addresses(2);
        byte[][] keys = {Keys.random(Keys.BYTES), Keys.random(Keys.BYTES)};
        byte[][] numbers = {Keys.random(16), Keys.random(16)};
        Meeting.of(
                4,
                each -> {
                    int rank = each & 1;
                    int comm = each >> 1;
                    int[] peer = {1 - rank};
                    try (LinkSetup links =
                            new LinkSetup(keys[comm], numbers[comm], rank, where, peer)) {
                        complete(links);
                        greet(links.descriptor(1 - rank), 10 * comm + rank, 10 * comm + 1 - rank);
                    }
                    return each;
                });
    }

    @Test
    void refusesAWrongKey() throws Exception {
        byte[] number = Keys.random(16);
        SocketAddress[] where = addresses(2);
        byte[] right = Keys.random(Keys.BYTES);
        try (LinkSetup high = new LinkSetup(right, number, 1, where, new int[] {0});
                LinkSetup forged =
                        new LinkSetup(Keys.random(32), number, 0, where, new int[] {1})) {
            String text =
                    assertThrows(
                                    org.jccl.type.NcclException.class,
                                    () -> {
                                        while (!forged.advance()) {
                                            forged.awaitActivity(10);
                                        }
                                    })
                            .toString();
            assertTrue(text.contains("does not know the secret"), text);
            assertFalse(high.advance());
            try (LinkSetup low = new LinkSetup(right, number, 0, where, new int[] {1})) {
                while (!(low.advance() && high.advance())) {
                    low.awaitActivity(1);
                }
            }
        }
    }

    @Test
    void refusesARecordedHandshake() throws Exception {
        byte[] key = Keys.random(Keys.BYTES);
        byte[] number = Keys.random(16);
        SocketAddress[] where = addresses(2);
        try (Tap tap = new Tap(where[1])) {
            SocketAddress[] way = {where[0], tap.address()};
            byte[] said;
            try (LinkSetup low = new LinkSetup(key, number, 0, way, new int[] {1});
                    LinkSetup high = new LinkSetup(key, number, 1, where, new int[] {0})) {
                completeBoth(low, high);
                said = tap.recorded();
                assertDropped(where[1], said);
                // The link that stands is not taken for the thief's.
                greetOneWay(low.descriptor(1), high.descriptor(0));
            }
            // Nor is it let in where the same rank is expected again.
            try (LinkSetup high = new LinkSetup(key, number, 1, where, new int[] {0})) {
                assertDropped(where[1], said);
                assertFalse(high.advance());
            }
        }
    }

    private static void completeBoth(LinkSetup low, LinkSetup high) {
        boolean done = false;
        while (!done) {
            done = low.advance();
            done &= high.advance();
            low.awaitActivity(1);
        }
    }

    private static void assertDropped(SocketAddress where, byte[] said) throws Exception {
        assertEquals(Hello.BYTES + Keys.BYTES, said.length);
        try (Socket thief = Tap.connect(where)) {
            thief.getOutputStream().write(said);
            byte[] reply = thief.getInputStream().readNBytes(Hello.REPLY_BYTES);
            assertEquals(Hello.CHALLENGE, reply[0]);
            assertEquals(-1, Tap.readUntilEnd(thief));
        }
    }

    private static void greetOneWay(int from, int to) {
        try (SharedMemory memory = SharedMemory.anonymous(64)) {
            Memory.putInt(memory.address(), 4711);
            assertEquals(4, Sockets.send(from, memory.address(), 4));
            Sockets.pollOne(to, Sockets.POLLIN, 60_000);
            assertEquals(4, Sockets.recv(to, memory.address() + 8, 4));
            assertEquals(4711, Memory.getInt(memory.address() + 8));
        }
        Sockets.close(from);
        Sockets.close(to);
    }

    @Test
    void acceptsOnlyExpectedRanks() throws Exception {
        byte[] key = Keys.random(Keys.BYTES);
        byte[] number = Keys.random(16);
        SocketAddress[] where = addresses(3);
        try (LinkSetup two = new LinkSetup(key, number, 2, where, new int[] {1});
                LinkSetup zero = new LinkSetup(key, number, 0, where, new int[] {2});
                LinkSetup one = new LinkSetup(key, number, 1, where, new int[] {2})) {
            while (!(one.advance() && two.advance())) {
                assertFalse(zero.advance());
                one.awaitActivity(1);
            }
            assertFalse(zero.advance());
            assertArrayEquals(new int[] {2}, zero.missing());
            assertThrows(IllegalStateException.class, () -> two.descriptor(0));
        }
    }

    @Test
    void closesWhatWasNotTaken() throws Exception {
        byte[] key = Keys.random(Keys.BYTES);
        byte[] number = Keys.random(16);
        SocketAddress[] where = addresses(2);
        LinkSetup low = new LinkSetup(key, number, 0, where, new int[] {1});
        LinkSetup high = new LinkSetup(key, number, 1, where, new int[] {0});
        while (!(low.advance() && high.advance())) {
            low.awaitActivity(1);
        }
        int taken = low.descriptor(1);
        high.close();
        high.close();
        low.close();
        try (SharedMemory memory = SharedMemory.anonymous(64)) {
            Sockets.pollOne(taken, Sockets.POLLIN, 60_000);
            assertEquals(0, Sockets.recv(taken, memory.address(), 1));
        }
        Sockets.close(taken);
    }

    private static SocketAddress[] addresses(int n) {
        SocketAddress[] where = new SocketAddress[n];
        Arrays.fill(where, Listener.address());
        return where;
    }

    private static void complete(LinkSetup links) {
        while (!links.advance()) {
            links.awaitActivity(Meeting.SLICE_MS);
        }
    }

    private static void greet(int fd, int self, int peer) {
        try (SharedMemory memory = SharedMemory.anonymous(64)) {
            Memory.putInt(memory.address(), self);
            assertEquals(4, Sockets.send(fd, memory.address(), 4));
            Sockets.pollOne(fd, Sockets.POLLIN, 60_000);
            assertEquals(4, Sockets.recv(fd, memory.address() + 8, 4));
            assertEquals(peer, Memory.getInt(memory.address() + 8));
            Sockets.shutdown(fd);
            Sockets.pollOne(fd, Sockets.POLLIN, 60_000);
            assertEquals(0, Sockets.recv(fd, memory.address() + 8, 4));
        }
        Sockets.close(fd);
    }
}
