package org.jccl.bootstrap;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.platform.SocketAddress;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.net.Socket;
import java.util.Arrays;
import java.util.List;

/** However slowly a stranger speaks, JCCL drops it after a time that the stranger cannot change. */
class PatienceTest {
    @Test
    void nobodyStaysWithoutAProof() {
        Cluster.processes(1).run(Listens.class).assertAllSucceeded();
    }

    /** A process with strangers: each says something at once, and some send a byte now and then. */
    public static final class Listens implements Scenario {
        @Override
        public void run(Rank rank) throws Exception {
            awaitTheirEnds();
        }
    }

    private static void awaitTheirEnds() throws Exception {
        IdContent id = IdContent.decode(Rendezvous.createId());
        SocketAddress address = id.root();
        byte[] meets = Hello.create(Hello.RENDEZVOUS, 0, 0, id.number()).encode();
        byte[] links = Hello.create(Hello.LINK, 0, 1, Keys.random(16)).encode();
        byte[] halfAProof = Arrays.copyOf(meets, meets.length + MemberHello.BYTES);
        List<Socket> strangers =
                List.of(
                        say(address, new byte[0]),
                        say(address, Arrays.copyOf(meets, 8)),
                        say(address, meets),
                        say(address, halfAProof),
                        say(address, links));
        for (int left = strangers.size(); left > 0; ) {
            Thread.sleep(200);
            left = 0;
            for (int i = 0; i < strangers.size(); i++) {
                // One that waits for its target may not speak.
                left += isOpen(strangers.get(i), i == 1 || i == 3) ? 1 : 0;
            }
        }
        for (Socket each : strangers) {
            each.close();
        }
        assertEquals(1, gather(new RendezvousClient(id, MemberHello.own(1, 0, true))));
    }

    private static int gather(Exchange exchange) {
        try (exchange) {
            return Meeting.round(exchange, new byte[0]).length;
        }
    }

    private static Socket say(SocketAddress address, byte[] words) throws IOException {
        Socket socket = Tap.connect(address);
        socket.getOutputStream().write(words);
        socket.setSoTimeout(1);
        return socket;
    }

    private static boolean isOpen(Socket socket, boolean speaks) {
        try {
            if (speaks) {
                socket.getOutputStream().write('J');
            }
            byte[] answer = new byte[Hello.REPLY_BYTES];
            return socket.getInputStream().read(answer) >= 0;
        } catch (java.net.SocketTimeoutException silent) {
            return true;
        } catch (IOException reset) {
            return false;
        }
    }
}
