package org.jccl.bootstrap;

import org.jspecify.annotations.Nullable;

import java.util.Objects;

/**
 * An accepted connection until it has proved itself; then it is handed over. Belongs to the thread
 * jccl-net.
 */
final class IncomingConnection extends Pollable {
    private static final long LIMIT_NS = 10_000_000_000L;

    private final UnprovenConnections unproven;
    private final Channel channel;
    private final @Nullable Root rootOfSocket;
    final long sinceNs;
    private @Nullable Hello hello;
    private @Nullable Root root;
    private @Nullable LinkTarget target;
    private byte[] key = {};

    /** Part of the challenge; null before it is sent. */
    private byte @Nullable [] nonce;

    /**
     * Takes ownership of the descriptor.
     *
     * @param rootOfSocket the only root that is met where it came, or null for all of this process
     */
    IncomingConnection(
            UnprovenConnections unproven, int fd, @Nullable Root rootOfSocket, long nowNs) {
        super(fd);
        this.unproven = unproven;
        this.rootOfSocket = rootOfSocket;
        this.channel = new Channel(fd);
        this.sinceNs = nowNs;
    }

    @Override
    long deadlineNs() {
        return sinceNs + LIMIT_NS;
    }

    @Override
    void expired(long nowNs) {
        drop(isEarly() ? "nobody here waits for it" : "it did not prove itself within 10 s", nowNs);
    }

    /** Whether it is a link that has come before its target. */
    boolean isEarly() {
        return hello != null && nonce == null && !done();
    }

    @Override
    void release() {
        unproven.remove(fd);
        super.release();
    }

    /** Closes it and says why. */
    void drop(String why, long nowNs) {
        unproven.drops.add(
                () -> "dropped a connection from " + channel.remote() + ": " + why, nowNs);
        close();
    }

    @Override
    void ready(long nowNs) {
        String why = advance(nowNs);
        if (why == null && channel.ended()) {
            // A rank that gave up, or a port scan.
            why = channel.endText();
        }
        if (why != null && !done()) {
            drop(why, nowNs);
        }
    }

    /** Goes as far as the bytes that are there allow; why it is to be dropped, or null. */
    private @Nullable String advance(long nowNs) {
        if (hello == null) {
            boolean complete = channel.fill(Hello.BYTES);
            if (!channel.mayBeHello()) {
                return "it does not speak JCCL";
            }
            if (!complete) {
                return null;
            }
            hello = Hello.decode(channel.take(Hello.BYTES));
            if (hello == null) {
                return "its hello is malformed";
            }
        }
        if (nonce == null) {
            String why = answer(hello);
            if (why != null) {
                return why;
            }
        }
        if (nonce == null) {
            // Nothing may come before the challenge; this finds the end of the connection.
            return channel.fill(1) ? "it speaks out of turn" : null;
        }
        return readProof(hello, nonce, nowNs);
    }

    /** Challenges it, unless it has come before its target; why it is to be dropped, or null. */
    private @Nullable String answer(Hello received) {
        if (received.kind() == Hello.LINK && rootOfSocket == null) {
            target = unproven.target(received);
            return target == null ? null : challenge(received, target.key);
        }
        root = root(received);
        if (root == null) {
            channel.send(Hello.unknown());
            return "its unique id is not known here";
        }
        return challenge(received, root.key);
    }

    private @Nullable Root root(Hello received) {
        Number16 number = Number16.of(received.number());
        Root found = rootOfSocket == null ? unproven.roots.find(number) : rootOfSocket;
        boolean meets = found != null && found.number.equals(number);
        return meets && received.kind() == Hello.RENDEZVOUS ? found : null;
    }

    private @Nullable String challenge(Hello received, byte[] itsKey) {
        key = itsKey;
        nonce = Keys.random(Keys.BYTES);
        return tell(received.challenge(itsKey, nonce));
    }

    /** Answers are short: the socket takes one at once, or the connection is dropped. */
    private @Nullable String tell(byte[] message) {
        channel.send(message);
        return channel.idle() ? null : "it does not read";
    }

    private @Nullable String readProof(Hello received, byte[] challenged, long nowNs) {
        int payloadBytes = received.kind() == Hello.RENDEZVOUS ? MemberHello.BYTES : 0;
        if (!channel.fill(payloadBytes + Keys.BYTES)) {
            return null;
        }
        byte[] message = channel.take(payloadBytes + Keys.BYTES);
        byte[] payload = received.verifyProof(key, challenged, message);
        if (payload == null) {
            return "its proof is wrong";
        }
        if (target != null) {
            return joinTarget(received.from(), target);
        }
        Root its = Objects.requireNonNull(root);
        if (its.isTaken()) {
            // The rank comes again until the next root is open.
            return "the communicator that meets here is complete";
        }
        Member admitted = its.admit(channel, MemberHello.decode(payload));
        handOver();
        try {
            its.join(admitted, nowNs);
        } catch (RuntimeException | Error e) {
            admitted.failed(e, nowNs);
            throw e;
        }
        return null;
    }

    private @Nullable String joinTarget(int from, LinkTarget its) {
        String refusal = its.refusal(from);
        String why = refusal == null ? tell(Hello.ACCEPTED) : refusal;
        if (why == null) {
            handOver();
            its.offer(from, channel.fd);
        }
        return why;
    }

    /** From now on the descriptor has another owner. */
    private void handOver() {
        channel.configure();
        unproven.remove(fd);
        leave();
    }
}
