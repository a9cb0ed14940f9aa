package org.jccl.bootstrap;

import org.jccl.fuzz.FuzzTarget;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;

import java.io.IOException;
import java.net.Socket;
import java.net.SocketException;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * What a root reads from a rank that has proved itself and then goes: through a real socket, the
 * thread jccl-net and another rank, which learns what came of it.
 */
final class MemberStream {
    private static final byte[] NOTHING = {};

    private MemberStream() {}

    static FuzzTarget target() {
        byte[] blob = RootMessage.blob(0, new byte[] {1, 2, 3});
        byte[] empty = RootMessage.blob(0, NOTHING);
        return new FuzzTarget(
                "frames-of-a-rank",
                400,
                List.of(
                        blob,
                        empty,
                        RootMessage.bye(),
                        RootMessage.failed(ErrorKind.NO_MEMORY.says("no memory")),
                        BootstrapTargets.joined(
                                blob, RootMessage.blob(1, NOTHING), RootMessage.bye())),
                MemberStream::read,
                Set.of(),
                Map.of(
                        "gone", "(the connection was closed)",
                        "nonsense", "(it sent nonsense)",
                        "gave up", "gave up: ",
                        "left", "has left before the initialisation was complete",
                        "protocol", "broke the protocol"));
    }

    private static String read(byte[] input) throws Exception {
        IdContent id = IdContent.decode(Rendezvous.createId());
        try (Socket liar = Tap.connect(id.root());
                Exchange zero = new RendezvousClient(id, MemberHello.own(2, 0, true))) {
            join(liar, id);
            say(liar, input);
            zero.begin(NOTHING);
            while (!zero.advance()) {
                zero.awaitActivity(Meeting.SLICE_MS);
            }
            return "complete without the liar";
        } catch (NcclException refused) {
            // The other rank's word for it, which names the liar.
            BootstrapTargets.require(
                    String.valueOf(refused.getMessage()).contains("rank 1 ("), "it names nobody");
            throw refused;
        }
    }

    /** Sends this, and returns when the root has ended the connection; another rank comes then. */
    private static void say(Socket liar, byte[] input) throws IOException {
        try {
            liar.getOutputStream().write(input);
            liar.shutdownOutput();
            liar.getInputStream().readAllBytes();
        } catch (SocketException reset) {
            // The root had read enough.
        }
    }

    private static void join(Socket liar, IdContent id) throws Exception {
        byte[] key = id.key();
        Hello hello = Hello.create(Hello.RENDEZVOUS, 0, 0, id.number());
        liar.getOutputStream().write(hello.encode());
        byte[] reply = liar.getInputStream().readNBytes(Hello.REPLY_BYTES);
        byte[] nonce = Objects.requireNonNull(hello.verifyChallenge(key, reply));
        liar.getOutputStream()
                .write(hello.proof(key, nonce, MemberHello.own(2, 1, false).encode()));
        byte[] accepted = liar.getInputStream().readNBytes(Hello.ACCEPTED.length);
        BootstrapTargets.require(Keys.same(accepted, Hello.ACCEPTED), "it was not accepted");
    }
}
