package org.jccl.bootstrap;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.harness.Deadline;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.UniqueId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;
import java.util.concurrent.CountDownLatch;

@ExtendWith(Deadline.class)
class RendezvousTest {
    private static final byte[] NOTHING = {};

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 7, 8, 16, 33})
    void gathersRoundAfterRound(int n) throws Exception {
        UniqueId id = Rendezvous.createId();
        int[] sizes = {1, 0, 1_000, Exchange.MAX_BLOB_BYTES};
        Meeting.of(
                n,
                rank -> {
                    try (Exchange exchange = new RendezvousClient(id, n, rank)) {
                        for (int size : sizes) {
                            byte[][] all = Meeting.round(exchange, blob(rank, size));
                            assertEquals(n, all.length);
                            for (int from = 0; from < n; from++) {
                                assertArrayEquals(blob(from, size), all[from]);
                            }
                            assertEquals(0, exchange.missing().length);
                        }
                    }
                    return rank;
                });
    }

    @Test
    void servesManyRendezvousAtOnce() throws Exception {
        Meeting.of(
                6,
                pair -> {
                    UniqueId id = Rendezvous.createId();
                    return Meeting.of(
                            2,
                            rank -> {
                                try (Exchange exchange = new RendezvousClient(id, 2, rank)) {
                                    byte[] mine = {(byte) pair, (byte) rank};
                                    byte[][] all = Meeting.round(exchange, mine);
                                    assertEquals(pair, all[1 - rank][0]);
                                    assertEquals(1 - rank, all[1 - rank][1]);
                                }
                                return rank;
                            });
                });
    }

    @Test
    void namesTheMissingRanks() throws Exception {
        UniqueId id = Rendezvous.createId();
        Exchange two = new RendezvousClient(id, 4, 2);
        try (Exchange zero = new RendezvousClient(id, 4, 0)) {
            zero.begin(NOTHING);
            two.begin(NOTHING);
            while (zero.missing().length != 2 || two.missing().length != 2) {
                assertFalse(zero.advance());
                assertFalse(two.advance());
                zero.awaitActivity(10);
            }
            assertArrayEquals(new int[] {1, 3}, zero.missing());
            assertArrayEquals(new int[] {1, 3}, two.missing());
            two.close();
            NcclException failure = finish(zero);
            assertEquals(NcclResult.REMOTE_ERROR, failure.result());
            assertTrue(failure.toString().contains("rank 2 ("), failure.toString());
            assertTrue(failure.toString().contains("never came: ranks 1, 3"), failure.toString());
        }
    }

    @Test
    void namesTwoProcessesWithOneRank() throws Exception {
        UniqueId id = Rendezvous.createId();
        List<NcclException> failures =
                Meeting.of(3, each -> failure(new RendezvousClient(id, 4, each == 0 ? 0 : 2)));
        for (NcclException failure : failures) {
            assertEquals(NcclResult.INVALID_USAGE, failure.result());
            assertTrue(failure.toString().contains("rank 2 came twice"), failure.toString());
        }
    }

    @Test
    void namesBothValuesOfDifferingNRanks() throws Exception {
        UniqueId id = Rendezvous.createId();
        List<NcclException> failures =
                Meeting.of(2, rank -> failure(new RendezvousClient(id, 4 + rank, rank)));
        for (NcclException failure : failures) {
            String text = failure.toString();
            assertEquals(NcclResult.INVALID_USAGE, failure.result());
            assertTrue(text.matches("(?s).*rank 0 \\(\\S+\\) says nranks is 4.*"), text);
            assertTrue(text.matches("(?s).*rank 1 \\(\\S+\\) says nranks is 5.*"), text);
        }
    }

    @Test
    void namesBothBuildsAndWireVersions() throws Exception {
        MemberHello own = MemberHello.own(2, 1, false);
        String where = own.who();
        MemberHello build =
                new MemberHello(own.wireVersion(), own.byteOrder(), 2, 1, false, "9.9", where);
        MemberHello wire = new MemberHello(77, own.byteOrder(), 2, 1, false, own.build(), where);
        for (MemberHello other : List.of(build, wire)) {
            IdContent id = IdContent.decode(Rendezvous.createId());
            List<NcclException> failures =
                    Meeting.of(
                            2,
                            rank ->
                                    failure(
                                            new RendezvousClient(
                                                    id,
                                                    rank == 1
                                                            ? other
                                                            : MemberHello.own(2, 0, true))));
            String value = other.equals(build) ? "runs JCCL 9.9" : "speaks wire version 77";
            for (NcclException failure : failures) {
                assertTrue(failure.toString().contains(value), failure.toString());
                assertTrue(failure.toString().contains("rank 0 ("), failure.toString());
                assertTrue(failure.toString().contains("rank 1 ("), failure.toString());
            }
        }
    }

    @Test
    void servesAnIdOnce() throws Exception {
        UniqueId id = Rendezvous.createId();
        Meeting.of(
                2,
                rank -> {
                    try (Exchange exchange = new RendezvousClient(id, 2, rank)) {
                        return Meeting.round(exchange, NOTHING).length;
                    }
                });
        NcclException failure = failure(new RendezvousClient(id, 2, 0));
        assertEquals(NcclResult.INVALID_USAGE, failure.result());
        assertTrue(failure.toString().contains("has been used already"), failure.toString());
    }

    @Test
    void servesAnIdOnceWhileItsRanksAreStillThere() throws Exception {
        UniqueId id = Rendezvous.createId();
        try (Exchange only = new RendezvousClient(id, 1, 0)) {
            Meeting.round(only, NOTHING);
            NcclException failure = failure(new RendezvousClient(id, 1, 0));
            assertTrue(failure.toString().contains("has been used already"), failure.toString());
            assertEquals(1, Meeting.round(only, NOTHING).length);
        }
    }

    @Test
    void tellsLateRanksWhyItFailed() throws Exception {
        UniqueId id = Rendezvous.createId();
        Meeting.of(2, rank -> failure(new RendezvousClient(id, 3, 2)));
        NcclException failure = failure(new RendezvousClient(id, 3, 0));
        assertTrue(failure.toString().contains("rank 2 came twice"), failure.toString());
    }

    @Test
    void refusesIdsThatAreNotItsOwn() {
        for (byte fill : new byte[] {0, 1, -1}) {
            byte[] bytes = new byte[UniqueId.BYTES];
            java.util.Arrays.fill(bytes, fill);
            NcclException refused =
                    assertThrows(
                            NcclException.class,
                            () -> new RendezvousClient(new UniqueId(bytes), 2, 0));
            assertEquals(NcclResult.INVALID_ARGUMENT, refused.result());
        }
    }

    @Test
    void refusesAWrongSecret() throws Exception {
        IdContent id = IdContent.decode(Rendezvous.createId());
        IdContent forged = new IdContent(id.root(), id.number(), Keys.random(Keys.BYTES));
        NcclException failure = failure(new RendezvousClient(forged, MemberHello.own(1, 0, false)));
        assertEquals(NcclResult.REMOTE_ERROR, failure.result());
        assertTrue(failure.toString().contains("does not know the secret"), failure.toString());
        IdContent unknown = new IdContent(id.root(), Keys.random(16), id.secret());
        NcclException lost = failure(new RendezvousClient(unknown, MemberHello.own(1, 0, false)));
        assertTrue(lost.toString().contains("does not know this unique id"), lost.toString());
        assertEquals(1, gather(new RendezvousClient(id, MemberHello.own(1, 0, true))));
    }

    @Test
    void namesARankThatDies() throws Exception {
        IdContent id = IdContent.decode(Rendezvous.createId());
        try (Tap tap = new Tap(id.root())) {
            CountDownLatch met = new CountDownLatch(3);
            Meeting.of(
                    3,
                    rank -> {
                        MemberHello hello = MemberHello.own(3, rank, rank == 0);
                        IdContent way = rank == 1 ? tap.lead(id) : id;
                        try (Exchange exchange = new RendezvousClient(way, hello)) {
                            Meeting.round(exchange, NOTHING);
                            met.countDown();
                            met.await();
                            if (rank == 1) {
                                tap.cut();
                            }
                            String text = Meeting.failure(exchange, NOTHING).toString();
                            String expected =
                                    rank == 1
                                            ? "rank 0, whose process made the unique id, has gone"
                                            : "rank 1 (";
                            assertTrue(text.contains(expected), text);
                            assertTrue(text.contains("has gone"), text);
                        }
                        return rank;
                    });
        }
    }

    @Test
    void namesARankThatLeavesTooEarly() throws Exception {
        UniqueId id = Rendezvous.createId();
        Meeting.of(
                2,
                rank -> {
                    try (Exchange exchange = new RendezvousClient(id, 2, rank)) {
                        Meeting.round(exchange, NOTHING);
                        if (rank == 0) {
                            String text = Meeting.failure(exchange, NOTHING).toString();
                            assertTrue(text.contains("rank 1 ("), text);
                            assertTrue(text.contains("has left"), text);
                        }
                    }
                    return rank;
                });
    }

    @Test
    void failsWhenTheRootsProcessEnds() throws Exception {
        UniqueId id = Rendezvous.createId();
        try (Exchange exchange = new RendezvousClient(id, 2, 1)) {
            exchange.begin(NOTHING);
            while (exchange.missing().length == 0) {
                assertFalse(exchange.advance());
                exchange.awaitActivity(10);
            }
            ListenerEnd.now();
            NcclException failure = finish(exchange);
            assertEquals(NcclResult.REMOTE_ERROR, failure.result());
            assertTrue(failure.toString().contains("made the unique id"), failure.toString());
        }
    }

    @Test
    void saysWhatItWaitsFor() throws Exception {
        IdContent id = IdContent.decode(Rendezvous.createId());
        ListenerEnd.now();
        try (RendezvousClient lonely = new RendezvousClient(id, MemberHello.own(2, 1, false))) {
            lonely.begin(NOTHING);
            while (!lonely.unreachable().contains("refused")) {
                assertFalse(lonely.advance());
                lonely.awaitActivity(10);
            }
            assertTrue(lonely.unreachable().contains(id.root().toString()), lonely.unreachable());
        }
    }

    @Test
    void hidesTheSecret() {
        UniqueId id = Rendezvous.createId();
        assertEquals("UniqueId[hidden]", id.toString());
        assertEquals("IdContent[hidden]", IdContent.decode(id).toString());
        assertEquals(id, IdContent.decode(id).encode());
    }

    @Test
    void derivesOneKeyForAllHolders() {
        UniqueId id = Rendezvous.createId();
        byte[] fresh = {4, 5};
        byte[] key = IdContent.decode(id).communicatorKey(fresh);
        IdContent same = IdContent.decode(new UniqueId(id.toBytes()));
        IdContent other = IdContent.decode(Rendezvous.createId());
        assertArrayEquals(key, same.communicatorKey(fresh));
        assertFalse(Keys.same(key, same.communicatorKey(new byte[] {4, 6})));
        assertFalse(Keys.same(key, other.communicatorKey(fresh)));
        byte[] a = {1};
        byte[] b = {2, 3};
        assertFalse(Keys.same(Keys.derive(key, "x", a, b), Keys.derive(key, "x", b, a)));
        assertFalse(Keys.same(Keys.derive(key, "x", a), Keys.derive(key, "y", a)));
        assertFalse(
                Keys.same(
                        Keys.derive(key, "x", new byte[] {1, 2}, new byte[] {3}),
                        Keys.derive(key, "x", a, b)));
    }

    private static NcclException failure(Exchange exchange) {
        try (exchange) {
            return Meeting.failure(exchange, NOTHING);
        }
    }

    private static int gather(Exchange exchange) {
        try (exchange) {
            return Meeting.round(exchange, NOTHING).length;
        }
    }

    private static NcclException finish(Exchange exchange) {
        try {
            while (!exchange.advance()) {
                exchange.awaitActivity(Meeting.SLICE_MS);
            }
        } catch (NcclException expected) {
            return expected;
        }
        throw new AssertionError("the round succeeded");
    }

    private static byte[] blob(int rank, int size) {
        byte[] blob = new byte[size];
        for (int i = 0; i < size; i++) {
            blob[i] = (byte) (rank * 31 + i * 7);
        }
        return blob;
    }
}
