package org.jccl.bootstrap;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.harness.Cluster;
import org.jccl.harness.Deadline;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.platform.SocketAddress;
import org.jccl.type.UniqueId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.FutureTask;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.regex.Pattern;

/** Connections that are not of the job: each is dropped, and ranks meet all the while. */
@ExtendWith(Deadline.class)
class StrangersTest {
    private static final byte[] NOTHING = {};

    /**
     * Threads that may start while strangers come: the ranks of {@link Meeting}, and what the JVM
     * and the runner of tests start when they like. None of JCCL's own: its one thread for all
     * connections runs before, and a thread for a stranger would have a name like its.
     */
    private static final Pattern NOT_FOR_STRANGERS =
            Pattern.compile("rank|process reaper.*|surefire-.*|junit-.*|Attach Listener");

    @Test
    void dropsWhoeverDoesNotSpeakJccl() throws Exception {
        SocketAddress address = Listener.address();
        byte[] hello = Hello.create(Hello.RENDEZVOUS, 0, 0, new byte[16]).encode();
        byte[] wrongKind = hello.clone();
        wrongKind[8] = 9;
        byte[] wrongVersion = hello.clone();
        wrongVersion[7] = 2;
        byte[] negative = Hello.create(Hello.LINK, -1, 0, new byte[16]).encode();
        List<byte[]> openings =
                List.of(
                        "GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII),
                        new byte[] {0},
                        wrongKind,
                        wrongVersion,
                        negative);
        for (byte[] opening : openings) {
            try (Socket stranger = Tap.connect(address)) {
                stranger.getOutputStream().write(opening);
                assertEquals(0, answer(stranger).length);
            }
        }
        meet();
    }

    @Test
    void saysOnlyThatAnIdIsUnknown() throws Exception {
        try (Socket stranger = Tap.connect(Listener.address())) {
            byte[] hello = Hello.create(Hello.RENDEZVOUS, 0, 0, new byte[16]).encode();
            stranger.getOutputStream().write(hello);
            assertTrue(Arrays.equals(Hello.unknown(), answer(stranger)));
        }
    }

    @Test
    void staysOpenForRanksWhileManyStrangersAreSlow() throws Exception {
        SocketAddress address = Listener.address();
        List<Socket> strangers = new ArrayList<>();
        try {
            for (int i = 0; i < UnprovenConnections.MOST + 40; i++) {
                strangers.add(Tap.connect(address));
            }
            meet();
            for (Socket each : strangers) {
                sendOneByte(each);
            }
            meet();
        } finally {
            for (Socket each : strangers) {
                each.close();
            }
        }
        meet();
    }

    @Test
    void twoHundredCostNoThreadAndAreForgottenWhenTheyGo() throws Exception {
        meet();
        awaitNoneUnproven();
        try (Strangers strangers = Strangers.atListener(200, 100)) {
            // All but one kind are dropped, at once or after a while, and come again.
            while (strangers.dropped() < 600) {
                meet();
                assertBounded(strangers);
            }
        }
        awaitNoneUnproven();
        meet();
    }

    @Test
    void twoHundredAtAKnownRootCostNoThreadAndKeepNobodyFromMeeting() throws Exception {
        IdContent id = CommIdTest.openAtFreePort();
        byte[] recorded = Strangers.overhear(id);
        awaitNoneUnproven();
        try (Strangers strangers = new Strangers(id.root(), 200, recorded, 100)) {
            for (int i = 1; i <= 3; i++) {
                try (Exchange zero = CommIdTest.client(id, 2, 0);
                        Exchange one = CommIdTest.client(id, 2, 1)) {
                    zero.begin(NOTHING);
                    // The port is open now, until the last rank has come.
                    while (strangers.dropped() < 200 * i) {
                        assertFalse(zero.advance());
                        assertBounded(strangers);
                        zero.awaitActivity(10);
                    }
                    one.begin(NOTHING);
                    while (!CommIdTest.both(zero, one)) {
                        one.awaitActivity(1);
                    }
                    assertEquals(2, one.result().length);
                }
            }
        }
        awaitNoneUnproven();
    }

    private static void assertBounded(Strangers strangers) throws Exception {
        assertTrue(unproven() <= UnprovenConnections.MOST);
        List<String> started =
                strangers.threadsStarted().stream()
                        .filter(name -> !NOT_FOR_STRANGERS.matcher(name).matches())
                        .toList();
        assertEquals(List.of(), started);
    }

    @Test
    void aFloodFindsRoomForNoMoreThanItsBound() throws Exception {
        SocketAddress address = Listener.address();
        List<Socket> flood = new ArrayList<>();
        try {
            for (int i = 0; i < 2 * UnprovenConnections.MOST; i++) {
                flood.add(Tap.connect(address));
                assertTrue(unproven() <= UnprovenConnections.MOST);
            }
            meet();
            assertTrue(unproven() <= UnprovenConnections.MOST);
        } finally {
            for (Socket each : flood) {
                each.close();
            }
        }
        awaitNoneUnproven();
    }

    @Test
    void aLinkHasNothingToDoAtAKnownRoot() throws Exception {
        IdContent id = CommIdTest.openAtFreePort();
        try (Exchange zero = CommIdTest.client(id, 2, 0)) {
            zero.begin(NOTHING);
            assertFalse(zero.advance());
            try (Socket confused = Tap.connect(id.root())) {
                byte[] hello = Hello.create(Hello.LINK, 1, 0, id.number()).encode();
                confused.getOutputStream().write(hello);
                assertTrue(Arrays.equals(Hello.unknown(), answer(confused)));
            }
        }
    }

    private static int unproven() throws Exception {
        return ask(listener -> listener.unproven.waiting.size());
    }

    private static int polled() throws Exception {
        return ask(listener -> listener.agent.served.size());
    }

    /** Asks something of the thread jccl-net. */
    private static <T> T ask(Function<Listener, T> question) throws Exception {
        Listener listener = Listener.shared();
        FutureTask<T> answer = new FutureTask<>(() -> question.apply(listener));
        listener.agent.submit(answer);
        return answer.get();
    }

    @Test
    void thoseThatSayNothingArePolledAsOneUntilTheirTimeIsOver() {
        Cluster.processes(1).run(MeetsSilence.class).assertAllSucceeded();
    }

    /** A process whose listener nobody else uses. */
    public static final class MeetsSilence implements Scenario {
        @Override
        public void run(Rank rank) throws Exception {
            SocketAddress address = Listener.address();
            int before = polled();
            List<Socket> silent = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                silent.add(Tap.connect(address));
            }
            // Each question is a turn of the loop.
            while (unproven() < 100) {}
            assertEquals(before, polled());
            expireAt(1);
            assertEquals(100, unproven());
            expireAt(11);
            assertEquals(0, unproven());
            for (Socket each : silent) {
                assertEquals(0, answer(each).length);
                each.close();
            }
            onNet(connections -> connections.failed(new OutOfMemoryError(), System.nanoTime()));
            meet();
            oneMoreThanThereIsRoomForDropsOne(address);
        }

        private static void oneMoreThanThereIsRoomForDropsOne(SocketAddress address)
                throws Exception {
            List<Socket> all = new ArrayList<>();
            for (int i = 0; i < UnprovenConnections.MOST; i++) {
                all.add(Tap.connect(address));
            }
            while (unproven() < UnprovenConnections.MOST) {}
            // Until the oldest may be dropped.
            Thread.sleep(1_100);
            all.add(Tap.connect(address));
            assertEquals(0, answer(all.getFirst()).length);
            assertEquals(UnprovenConnections.MOST, unproven());
            for (Socket each : all) {
                each.close();
            }
        }
    }

    private static void onNet(Consumer<UnprovenConnections> action) throws Exception {
        ask(
                listener -> {
                    action.accept(listener.unproven);
                    return true;
                });
    }

    /** The time this many seconds from now. */
    private static void expireAt(int s) throws Exception {
        onNet(connections -> connections.expired(System.nanoTime() + s * 1_000_000_000L));
    }

    private static void awaitNoneUnproven() throws Exception {
        while (unproven() > 0) {
            Thread.sleep(5);
        }
    }

    @Test
    void refusesARecordedHandshake() throws Exception {
        IdContent id = IdContent.decode(Rendezvous.createId());
        try (Tap tap = new Tap(id.root());
                Exchange zero = new RendezvousClient(tap.lead(id), MemberHello.own(2, 0, true));
                Exchange one = new RendezvousClient(id, MemberHello.own(2, 1, false))) {
            zero.begin(NOTHING);
            while (zero.missing().length == 0) {
                assertFalse(zero.advance());
                zero.awaitActivity(10);
            }
            byte[] recorded = tap.recorded();
            assertTrue(recorded.length > Hello.BYTES + MemberHello.BYTES + Keys.BYTES);
            try (Socket thief = Tap.connect(id.root())) {
                thief.getOutputStream().write(recorded);
                byte[] answer = answer(thief);
                // A challenge of its own, which the recorded proof does not meet.
                assertEquals(Hello.REPLY_BYTES, answer.length);
                assertEquals(Hello.CHALLENGE, answer[0]);
            }
            one.begin(NOTHING);
            while (!(one.advance() && zero.advance())) {
                one.awaitActivity(1);
            }
            assertEquals(2, zero.result().length);
        }
    }

    @Test
    void refusesAProofThatMirrorsTheListenersOwn() throws Exception {
        IdContent id = IdContent.decode(Rendezvous.createId());
        try (Socket thief = Tap.connect(id.root())) {
            Hello hello = Hello.create(Hello.RENDEZVOUS, 0, 0, id.number());
            thief.getOutputStream().write(hello.encode());
            byte[] reply = thief.getInputStream().readNBytes(Hello.REPLY_BYTES);
            byte[] mirrored = new byte[MemberHello.BYTES + Keys.BYTES];
            System.arraycopy(reply, 36, mirrored, MemberHello.BYTES, Keys.BYTES);
            thief.getOutputStream().write(mirrored);
            assertEquals(0, answer(thief).length);
        }
    }

    @Test
    void endsARankThatSendsNonsense() throws Exception {
        IdContent id = IdContent.decode(Rendezvous.createId());
        byte[] key = id.key();
        try (Socket liar = Tap.connect(id.root());
                Exchange zero = new RendezvousClient(id, MemberHello.own(2, 0, true))) {
            Hello hello = Hello.create(Hello.RENDEZVOUS, 0, 0, id.number());
            liar.getOutputStream().write(hello.encode());
            byte[] reply = liar.getInputStream().readNBytes(Hello.REPLY_BYTES);
            byte[] nonce = Objects.requireNonNull(hello.verifyChallenge(key, reply));
            byte[] payload = MemberHello.own(2, 1, false).encode();
            liar.getOutputStream().write(hello.proof(key, nonce, payload));
            assertEquals(4, liar.getInputStream().readNBytes(4).length);
            liar.getOutputStream().write(new byte[] {0x7f, 0, 0, 0, 1});
            String text = Meeting.failure(zero, NOTHING).toString();
            assertTrue(text.contains("rank 1 ("), text);
        }
    }

    private static void meet() throws Exception {
        UniqueId id = Rendezvous.createId();
        Meeting.of(
                4,
                rank -> {
                    try (Exchange exchange = new RendezvousClient(id, 4, rank)) {
                        return Meeting.round(exchange, NOTHING).length;
                    }
                });
    }

    /** The bytes that come until the connection ends; a reset is an end. */
    private static byte[] answer(Socket socket) throws IOException {
        InputStream in = socket.getInputStream();
        byte[] answer = new byte[1024];
        int count = 0;
        try {
            for (int n = in.read(answer); n > 0; n = in.read(answer, count, 1024 - count)) {
                count += n;
            }
        } catch (SocketException reset) {
            // The listener closed with unread bytes.
        }
        return Arrays.copyOf(answer, count);
    }

    private static void sendOneByte(Socket socket) {
        try {
            socket.getOutputStream().write('J');
        } catch (IOException dropped) {
            // It was one of the oldest.
        }
    }
}
