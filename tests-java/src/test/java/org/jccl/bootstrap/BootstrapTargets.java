package org.jccl.bootstrap;

import org.jccl.fuzz.FuzzTarget;
import org.jccl.platform.SocketAddress;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.UniqueId;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The messages between processes before they are ranks of one communicator. */
public final class BootstrapTargets {
    private static final byte[] KEY = filled(Keys.BYTES, 1);
    private static final byte[] NUMBER = filled(IdContent.NUMBER_BYTES, 2);
    private static final byte[] NONCE = filled(Keys.BYTES, 3);
    private static final byte[] OTHER_NONCE = filled(Keys.BYTES, 4);
    private static final Hello MEETS = new Hello(Hello.RENDEZVOUS, 0, 0, NUMBER, NONCE);
    private static final Hello LINKS = new Hello(Hello.LINK, 2, 5, NUMBER, NONCE);
    private static final MemberHello OWN = new MemberHello(2, 1, 4, 1, false, "1.0", "host:1");
    private static final SocketAddress HERE = SocketAddress.parse("127.0.0.1:4000");
    private static final String NONSENSE = "nonsense";

    private BootstrapTargets() {}

    /** All targets of this package. */
    public static List<FuzzTarget> all() {
        return List.of(
                hello(),
                challenge(),
                proof(),
                memberHello(),
                id(),
                address(),
                framesOfTheRoot(),
                MemberStream.target());
    }

    private static FuzzTarget hello() {
        return new FuzzTarget(
                "hello",
                1,
                List.of(MEETS.encode(), LINKS.encode()),
                input -> {
                    if (!Hello.mayBegin(input)) {
                        return "not JCCL";
                    }
                    byte[] whole = Arrays.copyOf(input, Hello.BYTES);
                    Hello decoded = Hello.decode(whole);
                    if (decoded == null) {
                        return "malformed";
                    }
                    require(Arrays.equals(whole, decoded.encode()), "encoded again it differs");
                    require(decoded.from() >= 0 && decoded.to() >= 0, "a negative rank");
                    return decoded.kind() == Hello.LINK ? "link" : "rendezvous";
                },
                Set.of("not JCCL", "malformed", "link", "rendezvous"),
                Map.of());
    }

    private static FuzzTarget challenge() {
        byte[] right = MEETS.challenge(KEY, OTHER_NONCE);
        return new FuzzTarget(
                "challenge",
                4,
                List.of(right, Hello.unknown(), MEETS.challenge(NONCE, OTHER_NONCE)),
                input -> {
                    byte[] reply = Arrays.copyOf(input, Hello.REPLY_BYTES);
                    byte[] nonce = MEETS.verifyChallenge(KEY, reply);
                    require((nonce != null) == Arrays.equals(reply, right), "a forged challenge");
                    return nonce == null ? "refused" : "proved";
                },
                Set.of("refused", "proved"),
                Map.of());
    }

    private static FuzzTarget proof() {
        byte[] right = MEETS.proof(KEY, OTHER_NONCE, OWN.encode());
        byte[] mirrored = Arrays.copyOfRange(MEETS.challenge(KEY, OTHER_NONCE), 36, 68);
        byte[] reflected = Arrays.copyOf(right, right.length);
        System.arraycopy(mirrored, 0, reflected, MemberHello.BYTES, Keys.BYTES);
        byte[] forLink = LINKS.proof(KEY, OTHER_NONCE, new byte[0]);
        return new FuzzTarget(
                "proof",
                4,
                List.of(right, reflected, forLink),
                input -> {
                    byte[] message = Arrays.copyOf(input, MemberHello.BYTES + Keys.BYTES);
                    byte[] payload = MEETS.verifyProof(KEY, OTHER_NONCE, message);
                    require((payload != null) == Arrays.equals(message, right), "a forged proof");
                    return payload == null ? "refused" : "proved";
                },
                Set.of("refused", "proved"),
                Map.of());
    }

    private static FuzzTarget memberHello() {
        return new FuzzTarget(
                "member-hello",
                2,
                List.of(
                        OWN.encode(),
                        new MemberHello(2, 1, 8, 1, true, "1.0", "other:2").encode(),
                        new MemberHello(2, 2, 4, 1, true, "1.0", "other:2").encode(),
                        new MemberHello(2, 1, 4, 1, true, "1.1", "other:2").encode(),
                        new MemberHello(3, 1, 4, 1, true, "1.1", "other:2").encode()),
                input -> {
                    MemberHello decoded =
                            MemberHello.decode(Arrays.copyOf(input, MemberHello.BYTES));
                    String name = decoded.name();
                    String difference = decoded.differenceTo(OWN);
                    require(
                            !name.matches("(?s).*[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}].*"),
                            "a name with control characters");
                    if (difference == null) {
                        return "the same";
                    }
                    require(difference.length() < 1000, "a long sentence");
                    // Thrown as the root sends it, so that the sentence is looked at.
                    throw ErrorKind.RANKS_DISAGREE.says(difference);
                },
                Set.of("the same"),
                Map.of(
                        "wire version", " speaks wire version ",
                        "build", " runs JCCL ",
                        "byte order", " has byte order ",
                        "nranks", " says nranks is "));
    }

    private static FuzzTarget id() {
        IdContent made = new IdContent(HERE, NUMBER, KEY);
        return new FuzzTarget(
                "unique-id",
                1,
                List.of(made.encode().toBytes(), CommId.open(HERE).encode().toBytes()),
                input -> {
                    UniqueId bytes = new UniqueId(Arrays.copyOf(input, UniqueId.BYTES));
                    IdContent decoded = IdContent.decode(bytes);
                    require(decoded.root().port() != 0, "a port that nobody has");
                    return CommId.isOne(decoded) ? "known root" : "made root";
                },
                Set.of("known root", "made root"),
                Map.of(
                        "not made here", "was not made by this JCCL",
                        "damaged", "its address cannot be read"));
    }

    private static FuzzTarget address() {
        SocketAddress six = new SocketAddress(filled(16, 5), 4000, 3);
        return new FuzzTarget(
                "address",
                1,
                List.of(HERE.toWire(), six.toWire()),
                input -> {
                    SocketAddress read = SocketAddress.fromWire(input);
                    byte[] wire = read.toWire();
                    require(read.equals(SocketAddress.fromWire(wire)), "another address");
                    require(read.equals(SocketAddress.parse(read.toString())), read.toString());
                    return read.isIpv6() ? "IPv6" : "IPv4";
                },
                Set.of("IPv4", "IPv6"),
                Map.of("cut short", "is cut short", "malformed", "is malformed"));
    }

    /** The bytes that a rank reads from its root, which may be a liar that holds the id. */
    private static FuzzTarget framesOfTheRoot() {
        byte[] zero = RootMessage.result(0, 0, true, new byte[] {1});
        byte[] one = RootMessage.result(0, 1, false, new byte[] {2, 3});
        byte[] waiting = RootMessage.waiting(0, 0, new int[] {1});
        byte[] failed = RootMessage.failed(ErrorKind.RANKS_DISAGREE.says("rank 1 came twice"));
        return new FuzzTarget(
                "frames-of-the-root",
                4,
                List.of(joined(zero, one), joined(waiting, zero, one), joined(zero, failed)),
                input -> {
                    IdContent id = new IdContent(HERE, NUMBER, KEY);
                    MemberHello hello = new MemberHello(2, 1, 2, 1, false, "1.0", "host:1");
                    try (RendezvousClient client = new RendezvousClient(id, hello)) {
                        client.begin(new byte[0]);
                        client.takeContribution();
                        return readAll(client, input);
                    }
                },
                Set.of("not whole", "impossible length", "round complete"),
                Map.of("nonsense", "sent " + NONSENSE, "failure", "says: "));
    }

    private static String readAll(RendezvousClient client, byte[] input) {
        ByteBuffer stream = ByteBuffer.wrap(input);
        int results = 0;
        while (stream.remaining() >= RootMessage.HEADER_BYTES) {
            int length = stream.getInt();
            if (!RootMessage.isPossibleLength(length)) {
                return "impossible length";
            }
            if (stream.remaining() < length) {
                return "not whole";
            }
            ByteBuffer frame = stream.slice(stream.position(), length);
            stream.position(stream.position() + length);
            boolean result = length > 0 && frame.get(0) == RootMessage.RESULT;
            try {
                client.read(frame);
            } catch (NcclException refused) {
                boolean nonsense = String.valueOf(refused.getMessage()).contains(NONSENSE);
                boolean told = frame.get(0) == RootMessage.FAILED && !nonsense;
                throw told ? tagged(refused) : refused;
            }
            results += result ? 1 : 0;
            if (results == 2) {
                return "round complete";
            }
        }
        return "not whole";
    }

    /** A sentence of the root's, which may be any, told from those of this process. */
    private static NcclException tagged(NcclException refused) {
        boolean error =
                refused.result() != NcclResult.SUCCESS
                        && refused.result() != NcclResult.IN_PROGRESS;
        require(error, "a failure that is none");
        return refused.kind().says(refused, "says: " + refused.getMessage());
    }

    static byte[] joined(byte[]... parts) {
        List<Byte> all = new ArrayList<>();
        for (byte[] part : parts) {
            for (byte each : part) {
                all.add(each);
            }
        }
        byte[] bytes = new byte[all.size()];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = all.get(i);
        }
        return bytes;
    }

    static void require(boolean condition, String otherwise) {
        if (!condition) {
            throw new AssertionError(otherwise);
        }
    }

    private static byte[] filled(int bytes, int with) {
        byte[] array = new byte[bytes];
        Arrays.fill(array, (byte) with);
        return array;
    }
}
