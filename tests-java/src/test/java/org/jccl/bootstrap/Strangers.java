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
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Many connections that are not of the job, driven by one thread: each does what its kind does, and
 * comes again when it has been dropped.
 */
public final class Strangers implements AutoCloseable {
    private static final long TICK_MS = 20;
    private static final int GARBAGE_BYTES = 4096;

    /** What a stranger does. */
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
        OTHER_VERSION
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
    private final int ticksPerAct;
    private final List<Stranger> strangers = new ArrayList<>();
    private final Random random = new Random(7);
    private final ByteBuffer heard = ByteBuffer.allocate(4096);
    private final AtomicInteger connected = new AtomicInteger();
    private final AtomicInteger dropped = new AtomicInteger();
    private final Thread thread = new Thread(this::attack, "strangers");
    private volatile boolean over;

    /**
     * Begins at once.
     *
     * @param recorded what REPLAY says
     * @param actMs time between two acts of a stranger
     */
    public Strangers(SocketAddress target, int count, byte[] recorded, int actMs, Kind... kinds)
            throws IOException {
        this.target =
                new InetSocketAddress(InetAddress.getByAddress(target.bytes()), target.port());
        this.recorded = recorded.clone();
        this.ticksPerAct = Math.max(1, actMs / (int) TICK_MS);
        for (int i = 0; i < count; i++) {
            strangers.add(new Stranger(kinds[i % kinds.length]));
        }
        thread.setDaemon(true);
        thread.start();
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
                stranger.channel = SocketChannel.open(target);
                // Or the ports of this machine are used up by connections that have ended.
                stranger.channel.setOption(StandardSocketOptions.SO_LINGER, 0);
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
        byte[] hello = Hello.create(Hello.LINK, 0, 1, Keys.random(16)).encode();
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
