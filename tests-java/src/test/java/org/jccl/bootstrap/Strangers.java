package org.jccl.bootstrap;

import org.jccl.platform.SocketAddress;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Many connections that are not of the job, driven by one thread: each does what its kind does, and
 * comes again when it has been dropped.
 */
public final class Strangers implements AutoCloseable {
    private static final long TICK_MS = 20;
    private static final int GARBAGE_BYTES = 4096;

    /** Kinds of strangers. */
    public enum Kind {
        /** Says nothing. */
        SILENT,
        /** Says a good hello, a byte now and then. */
        SLOW,
        /** Says a good hello for a link that nobody waits for, and nothing more. */
        UNEXPECTED,
        /** Sends random bytes. */
        GARBAGE,
        /** Says again what a rank has said once. */
        REPLAY,
        /** Says the hello of another version of the protocol. */
        OTHER_VERSION,
        /** Knows the number of a rendezvous of the job, and proves another secret. */
        WRONG_SECRET
    }

    private static final class Stranger {
        final Kind kind;
        SocketChannel channel;
        int said;

        Stranger(Kind kind) {
            this.kind = kind;
        }
    }

    private final InetSocketAddress target;
    private final byte[] recorded;
    private final byte[] number;
    private final int ticksPerAct;
    private final Set<Thread> before = Thread.getAllStackTraces().keySet();
    private final List<Stranger> strangers = new ArrayList<>();
    private final Random random = new Random(7);
    private final ByteBuffer heard = ByteBuffer.allocate(4096);
    private final AtomicInteger connected = new AtomicInteger();
    private final AtomicInteger dropped = new AtomicInteger();
    private final Thread thread = new Thread(this::attack, "strangers");
    private volatile boolean over;

    /**
     * Begins at once, with all kinds in turn.
     *
     * @param recorded what REPLAY says: what a rank has said, with the number that WRONG_SECRET
     *     knows
     * @param actMs time between two acts of a stranger
     */
    Strangers(SocketAddress target, int count, byte[] recorded, int actMs) throws IOException {
        this.target =
                new InetSocketAddress(InetAddress.getByAddress(target.address()), target.port());
        this.recorded = recorded.clone();
        Hello said = Hello.decode(Arrays.copyOf(recorded, Hello.BYTES));
        if (said == null || recorded.length < Hello.BYTES + MemberHello.BYTES + Keys.BYTES) {
            throw new IllegalArgumentException("what was recorded is no whole handshake");
        }
        this.number = said.number();
        Kind[] kinds = Kind.values();
        this.ticksPerAct = Math.max(1, actMs / (int) TICK_MS);
        for (int i = 0; i < count; i++) {
            strangers.add(new Stranger(kinds[i % kinds.length]));
        }
        thread.setDaemon(true);
        thread.start();
    }

    /** At the port on which this process listens, where a rank has been overheard before. */
    public static Strangers atListener(int count, int actMs) throws IOException {
        byte[] recorded = overhear(IdContent.decode(Rendezvous.createId()));
        return new Strangers(Listener.address(), count, recorded, actMs);
    }

    /** All that rank 1 of two says while these meet. */
    static byte[] overhear(IdContent id) throws IOException {
        try (Tap tap = new Tap(id.root());
                Exchange zero = new RendezvousClient(id, MemberHello.own(2, 0, true));
                Exchange one = new RendezvousClient(tap.lead(id), MemberHello.own(2, 1, false))) {
            zero.begin(new byte[0]);
            one.begin(new byte[0]);
            while (!CommIdTest.both(zero, one)) {
                one.awaitActivity(1);
            }
            return tap.recorded();
        }
    }

    /** Names of the threads that were started since this began, without its own. */
    public List<String> threadsStarted() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(each -> !each.equals(thread) && !before.contains(each))
                .map(Thread::getName)
                .toList();
    }

    /** Connections that were made. */
    public int connected() {
        return connected.get();
    }

    /** Connections that the other side has ended. */
    public int dropped() {
        return dropped.get();
    }

    private void attack() {
        for (int tick = 0; !over; tick++) {
            for (int i = 0; i < strangers.size(); i++) {
                // Not all at one moment.
                if ((tick + i) % ticksPerAct == 0) {
                    act(strangers.get(i));
                }
            }
            try {
                Thread.sleep(TICK_MS);
            } catch (InterruptedException ended) {
                break;
            }
        }
        strangers.forEach(Strangers::leave);
    }

    private void act(Stranger stranger) {
        try {
            if (stranger.channel == null) {
                SocketChannel opened = SocketChannel.open(target);
                stranger.channel = opened;
                // Else connections that have ended would use up the ports of this machine.
                stranger.channel.setOption(StandardSocketOptions.SO_LINGER, 0);
                if (opened.getLocalAddress().equals(target)) {
                    // Where nobody listens, a local port can be connected to itself.
                    leave(stranger);
                    return;
                }
                stranger.channel.configureBlocking(false);
                stranger.said = 0;
                connected.incrementAndGet();
            }
            speak(stranger);
            heard.clear();
            if (stranger.channel.read(heard) < 0) {
                throw new IOException("dropped");
            }
        } catch (IOException reset) {
            if (stranger.channel != null) {
                dropped.incrementAndGet();
            }
            leave(stranger);
        }
    }

    private void speak(Stranger stranger) throws IOException {
        byte[] hello = Hello.create(Hello.LINK, 0, 1, Keys.random(number.length)).encode();
        byte[] words =
                switch (stranger.kind) {
                    case SILENT -> new byte[0];
                    case SLOW ->
                            stranger.said < hello.length
                                    ? Arrays.copyOfRange(hello, stranger.said, stranger.said + 1)
                                    : new byte[0];
                    case UNEXPECTED -> stranger.said == 0 ? hello : new byte[0];
                    case GARBAGE -> garbage();
                    case REPLAY -> stranger.said == 0 ? recorded : new byte[0];
                    case OTHER_VERSION -> otherVersion(hello);
                    case WRONG_SECRET -> wrongSecret(stranger.said);
                };
        stranger.channel.write(ByteBuffer.wrap(words));
        stranger.said++;
    }

    private byte[] garbage() {
        byte[] bytes = new byte[GARBAGE_BYTES];
        random.nextBytes(bytes);
        return bytes;
    }

    private static byte[] otherVersion(byte[] hello) {
        byte[] other = hello.clone();
        other[7]++;
        return other;
    }

    private byte[] wrongSecret(int said) {
        Hello hello = Hello.create(Hello.RENDEZVOUS, 0, 0, number);
        byte[] payload = MemberHello.own(2, 1, false).encode();
        return switch (said) {
            case 0 -> hello.encode();
            case 1 -> hello.proof(Keys.random(Keys.BYTES), Keys.random(Keys.BYTES), payload);
            default -> new byte[0];
        };
    }

    private static void leave(Stranger stranger) {
        try {
            if (stranger.channel != null) {
                stranger.channel.close();
            }
        } catch (IOException gone) {
            // It has left.
        }
        stranger.channel = null;
    }

    @Override
    public void close() {
        over = true;
        try {
            thread.join();
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }
}
