package org.jccl.bootstrap;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.harness.Deadline;
import org.jccl.platform.SocketAddress;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.UniqueId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;

/** Ranks that meet at a known address, as threads, without variables. */
@ExtendWith(Deadline.class)
class CommIdTest {
    private static final byte[] NOTHING = {};

    @Test
    void communicatorFollowsCommunicatorAtOnePort() throws Exception {
        IdContent id = openAtFreePort();
        Meeting.of(
                3,
                rank -> {
                    for (int i = 0; i < 50; i++) {
                        // In each round another thread is rank 0.
                        int as = (rank + i) % 3;
                        try (Exchange exchange = client(id, 3, as)) {
                            byte[][] all = Meeting.round(exchange, new byte[] {(byte) i});
                            for (byte[] each : all) {
                                assertArrayEquals(new byte[] {(byte) i}, each);
                            }
                        }
                    }
                    return rank;
                });
    }

    @Test
    void portIsFreeForTheNextAsSoonAsAllHaveCome() throws Exception {
        IdContent id = openAtFreePort();
        try (Exchange zero = client(id, 2, 0);
                Exchange one = client(id, 2, 1);
                Exchange nextZero = client(id, 2, 0);
                Exchange nextOne = client(id, 2, 1)) {
            meet(zero, one);
            meet(nextZero, nextOne);
            // The first two still have a root of their own.
            meet(one, zero);
        }
    }

    @Test
    void whoIsTooEarlyForTheNextIsSentAwayToComeAgain() throws Exception {
        IdContent id = openAtFreePort();
        try (Exchange zero = client(id, 2, 0);
                Exchange one = client(id, 2, 1)) {
            zero.begin(NOTHING);
            assertFalse(zero.advance());
            try (Socket early = Tap.connect(id.root())) {
                Hello hello = Hello.create(Hello.RENDEZVOUS, 0, 0, id.number());
                early.getOutputStream().write(hello.encode());
                byte[] reply = early.getInputStream().readNBytes(Hello.REPLY_BYTES);
                byte[] nonce = hello.verifyChallenge(id.key(), reply);
                assertNotNull(nonce);
                one.begin(NOTHING);
                while (!both(zero, one)) {
                    one.awaitActivity(1);
                }
                byte[] self = MemberHello.own(2, 1, false).encode();
                early.getOutputStream().write(hello.proof(id.key(), nonce, self));
                assertEquals(-1, Tap.readUntilEnd(early));
            }
        }
    }

    private static void meet(Exchange zero, Exchange one) {
        zero.begin(NOTHING);
        one.begin(NOTHING);
        while (!both(zero, one)) {
            one.awaitActivity(1);
        }
    }

    @Test
    void ranksWaitForAnotherOneToOpenTheRoot() throws Exception {
        IdContent id = openAtFreePort();
        try (Exchange one = client(id, 2, 1)) {
            one.begin(NOTHING);
            while (!String.valueOf(one.unreachable()).contains("refused")) {
                assertFalse(one.advance());
                one.awaitActivity(10);
            }
            assertArrayEquals(new int[] {0}, one.missing());
            assertTrue(
                    String.valueOf(one.unreachable()).contains(id.root().toString()),
                    String.valueOf(one.unreachable()));
            try (Exchange zero = client(id, 2, 0)) {
                zero.begin(NOTHING);
                while (!both(zero, one)) {
                    one.awaitActivity(1);
                }
                assertEquals(2, one.result().length);
                assertNull(one.unreachable());
            }
        }
    }

    @Test
    void namesRankZeroWhenItDies() throws Exception {
        IdContent id = openAtFreePort();
        try (Exchange zero = client(id, 3, 0);
                Exchange one = client(id, 3, 1)) {
            meetButOne(zero, one);
            ListenerEnd.now();
            String text = failure(one).toString();
            assertTrue(text.contains("rank 0, which opened the root at the known address"), text);
            assertTrue(text.contains("has gone"), text);
        }
    }

    @Test
    void portIsFreeAgainAfterRankZeroGaveUp() throws Exception {
        IdContent id = openAtFreePort();
        try (Exchange one = client(id, 3, 1)) {
            try (Exchange zero = client(id, 3, 0)) {
                meetButOne(zero, one);
            }
            String text = failure(one).toString();
            assertTrue(text.contains("rank 0"), text);
            assertTrue(text.contains("has left"), text);
        }
        // The same before any other rank has come.
        try (Exchange zero = client(id, 3, 0)) {
            zero.begin(NOTHING);
            assertFalse(zero.advance());
        }
        awaitFree(id.root());
    }

    private static void awaitFree(SocketAddress address) throws Exception {
        while (true) {
            try (ServerSocket mine = listen(address)) {
                assertTrue(mine.isBound());
                return;
            } catch (BindException notYet) {
                Thread.sleep(1);
            }
        }
    }

    @Test
    void saysThatSomebodyElseHasThePort() throws Exception {
        IdContent id = openAtFreePort();
        try (ServerSocket other = listen(id.root());
                Exchange zero = client(id, 2, 0)) {
            assertTrue(other.isBound());
            zero.begin(NOTHING);
            assertFalse(zero.advance());
            assertTrue(
                    String.valueOf(zero.unreachable())
                            .contains("opening the root at " + id.root()));
            NcclException refused = failure(zero);
            assertEquals(NcclResult.INVALID_USAGE, refused.result());
            String text = refused.toString();
            assertTrue(text.contains("choose another port"), text);
            assertTrue(text.contains(id.root().toString()), text);
        }
    }

    @Test
    void saysThatTheAddressIsAnotherMachines() {
        // An address for documentation, which no machine has.
        IdContent id = CommId.open(SocketAddress.parse("192.0.2.1:4000"));
        try (Exchange zero = client(id, 2, 0)) {
            zero.begin(NOTHING);
            NcclException refused = failure(zero);
            assertEquals(NcclResult.INVALID_USAGE, refused.result());
            assertTrue(refused.toString().contains("on which rank 0 runs"), refused.toString());
        }
    }

    @Test
    void takesTheSecondOfTwoForThatRankForATwin() throws Exception {
        IdContent id = openAtFreePort();
        List<String> texts =
                Meeting.of(
                        3,
                        each -> {
                            try (Exchange exchange = client(id, 3, each == 0 ? 0 : 1)) {
                                return Meeting.failure(exchange, NOTHING).toString();
                            }
                        });
        for (String text : texts) {
            assertTrue(text.contains("rank 1 came twice"), text);
        }
    }

    @Test
    void rankZeroLearnsWhatFailedBeforeItHadComeItself() throws Exception {
        IdContent id = openAtFreePort();
        try (Exchange zero = client(id, 3, 0)) {
            zero.begin(NOTHING);
            assertFalse(zero.advance());
            Meeting.of(
                    2,
                    each -> {
                        try (Exchange twin = client(id, 3, 1)) {
                            return Meeting.failure(twin, NOTHING);
                        }
                    });
            String text = failure(zero).toString();
            assertTrue(text.contains("rank 1 came twice"), text);
        }
    }

    @Test
    void secretsMustBeTheSame() throws Exception {
        IdContent open = openAtFreePort();
        IdContent right = new IdContent(open.root(), open.number(), Keys.random(Keys.BYTES));
        try (Exchange zero = client(right, 2, 0)) {
            zero.begin(NOTHING);
            assertFalse(zero.advance());
            try (Exchange stranger = client(open, 2, 1)) {
                stranger.begin(NOTHING);
                NcclException refused = failure(stranger);
                assertEquals(NcclResult.REMOTE_ERROR, refused.result());
                String text = refused.toString();
                assertTrue(text.contains("JCCL_SECRET"), text);
                assertTrue(text.contains("must be the same on all ranks"), text);
            }
            try (Exchange one = client(right, 2, 1)) {
                one.begin(NOTHING);
                while (!both(zero, one)) {
                    one.awaitActivity(1);
                }
            }
        }
    }

    @Test
    void idHoldsNoSecret() {
        IdContent open = CommId.open(SocketAddress.parse("[fd00::1]:4000"));
        byte[] key = Keys.random(Keys.BYTES);
        UniqueId id = new IdContent(open.root(), open.number(), new byte[32]).encode();
        assertEquals(open.encode(), id);
        assertTrue(CommId.isOne(IdContent.decode(id)));
        IdContent proved = new IdContent(open.root(), open.number(), key);
        assertFalse(Keys.same(proved.key(), open.key()));
        assertTrue(Rendezvous.isShared(id));
        assertFalse(Rendezvous.isShared(Rendezvous.createId()));
    }

    static RendezvousClient client(IdContent id, int nRanks, int rank) {
        return new RendezvousClient(id, MemberHello.own(nRanks, rank, rank == 0));
    }

    static boolean both(Exchange zero, Exchange one) {
        boolean done = zero.advance();
        return one.advance() && done;
    }

    /** Returns when both know that the third is missing. */
    private static void meetButOne(Exchange zero, Exchange one) {
        zero.begin(NOTHING);
        one.begin(NOTHING);
        while (!(knowsWhoIsMissing(zero) && knowsWhoIsMissing(one))) {
            assertFalse(zero.advance());
            assertFalse(one.advance());
            one.awaitActivity(10);
        }
    }

    private static boolean knowsWhoIsMissing(Exchange exchange) {
        int[] missing = exchange.missing();
        return missing.length == 1 && missing[0] == 2;
    }

    /** The failure that ends a round which has begun. */
    private static NcclException failure(Exchange exchange) {
        try {
            while (!exchange.advance()) {
                exchange.awaitActivity(Meeting.SLICE_MS);
            }
        } catch (NcclException expected) {
            return expected;
        }
        throw new AssertionError("the round succeeded");
    }

    /** An id that means an address of this machine where nobody listens. */
    static IdContent openAtFreePort() throws IOException {
        try (ServerSocket held = listen(SocketAddress.parse("127.0.0.1:0"))) {
            return CommId.open(SocketAddress.parse("127.0.0.1:" + held.getLocalPort()));
        }
    }

    private static ServerSocket listen(SocketAddress address) throws IOException {
        return new ServerSocket(address.port(), 1, InetAddress.getByAddress(address.address()));
    }
}
