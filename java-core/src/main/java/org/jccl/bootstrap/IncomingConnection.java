package org.jccl.bootstrap;

import org.jspecify.annotations.Nullable;

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
    private boolean isEarly() {
        return hello != null && nonce == null && !done();
    }

    @Override
    void release() {
        unproven.remove(this);
        channel.close();
    }

    /** Closes it and says why. */
    void drop(String why, long nowNs) {
        unproven.drops.add(
                () -> "dropped a connection from " + channel.remote() + ": " + why, nowNs);
        close();
    }

    /**
     * Goes as far as the bytes that are there allow. Answers are short: the socket takes one at
     * once, or the connection is dropped.
     */
    @Override
    void ready(long nowNs) {
        if (hello == null) {
            readHello(nowNs);
        }
        // Nothing may come before the challenge; this finds the end of the connection.
        if (isEarly() && channel.fill(1)) {
            drop("it speaks out of turn", nowNs);
        }
        if (hello != null && nonce != null && !done()) {
            readProof(hello, nonce, nowNs);
        }
        if (!done() && channel.ended()) {
            // A rank that gave up, or a port scan.
            drop(channel.endText(), nowNs);
        }
    }

    private void readHello(long nowNs) {
        boolean complete = channel.fill(Hello.BYTES);
        if (!channel.mayBeHello()) {
            drop("it does not speak JCCL", nowNs);
            return;
        }
        if (!complete) {
            return;
        }
        Hello received = Hello.decode(channel.take(Hello.BYTES));
        if (received == null) {
            drop("its hello is malformed", nowNs);
            return;
        }
        hello = received;
        if (received.kind() == Hello.LINK && rootOfSocket == null) {
            lookForTarget(nowNs);
            return;
        }
        root = root(received);
        if (root == null) {
            channel.send(Hello.unknown());
            drop("its unique id is not known here", nowNs);
            return;
        }
        challenge(received, root.key, nowNs);
    }

    private @Nullable Root root(Hello received) {
        if (received.kind() != Hello.RENDEZVOUS) {
            return null;
        }
        Root only = rootOfSocket;
        if (only == null) {
            return unproven.roots.find(received.number());
        }
        return only.number.equals(Number16.of(received.number())) ? only : null;
    }

    /** Goes on if it waits for a target that is there now. */
    void lookForTarget(long nowNs) {
        if (hello == null || !isEarly()) {
            return;
        }
        target = unproven.target(hello);
        if (target != null) {
            challenge(hello, target.key, nowNs);
        }
    }

    private void challenge(Hello received, byte[] itsKey, long nowNs) {
        byte[] fresh = Keys.random(Keys.BYTES);
        key = itsKey;
        nonce = fresh;
        tell(received.challenge(itsKey, fresh), nowNs);
    }

    private void tell(byte[] message, long nowNs) {
        channel.send(message);
        if (!channel.idle()) {
            drop("it does not read", nowNs);
        }
    }

    private void readProof(Hello received, byte[] challenged, long nowNs) {
        int payloadBytes = received.kind() == Hello.RENDEZVOUS ? MemberHello.BYTES : 0;
        if (!channel.fill(payloadBytes + Keys.BYTES)) {
            return;
        }
        byte[] message = channel.take(payloadBytes + Keys.BYTES);
        byte[] payload = received.verifyProof(key, challenged, message);
        if (payload == null) {
            drop("its proof is wrong", nowNs);
            return;
        }
        if (root != null && root.isTaken()) {
            // The rank comes again until the next root is open.
            drop("the communicator that meets here is complete", nowNs);
        } else if (root != null) {
            joinRoot(root, MemberHello.decode(payload), nowNs);
        } else if (target != null) {
            joinTarget(received, target, nowNs);
        }
    }

    private void joinRoot(Root its, MemberHello member, long nowNs) {
        Member admitted = its.admit(channel, member);
        handOver();
        its.join(admitted, nowNs);
    }

    private void joinTarget(Hello received, LinkTarget itsTarget, long nowNs) {
        String refusal = itsTarget.refusal(received.from());
        if (refusal != null) {
            drop(refusal, nowNs);
            return;
        }
        tell(Hello.ACCEPTED, nowNs);
        if (!done()) {
            handOver();
            itsTarget.offer(received.from(), channel.fd);
        }
    }

    /** From now on the descriptor has another owner. */
    private void handOver() {
        channel.configure();
        unproven.remove(this);
        leave();
    }
}
