package org.jccl.bootstrap;

import org.jspecify.annotations.Nullable;

/**
 * An accepted connection until it has proved itself; then it is handed over. Belongs to the thread
 * jccl-net.
 */
final class IncomingConnection extends Pollable {
    private static final long LIMIT_NS = 10_000_000_000L;

    private enum State {
        HELLO,
        /** A link that came before its target. */
        TARGET,
        PROOF
    }

    private final Listener listener;
    private final Channel channel;
    private final @Nullable Root rootOfSocket;
    final long sinceNs;
    private State state = State.HELLO;
    private @Nullable Hello hello;
    private @Nullable Root root;
    private @Nullable LinkTarget target;
    private byte[] key = {};
    private byte[] nonce = {};

    IncomingConnection(Listener listener, int fd, @Nullable Root rootOfSocket, long nowNs) {
        this.listener = listener;
        this.rootOfSocket = rootOfSocket;
        this.channel = new Channel(fd);
        this.sinceNs = nowNs;
    }

    @Override
    int fd() {
        return channel.fd;
    }

    @Override
    long deadlineNs() {
        return sinceNs + LIMIT_NS;
    }

    @Override
    void expired(long nowNs) {
        drop(
                state == State.TARGET
                        ? "nobody here waits for it"
                        : "it did not prove itself within 10 s",
                nowNs);
    }

    @Override
    void release() {
        listener.unproven.remove(this);
        channel.close();
    }

    /** Closes it and says why. */
    void drop(String why, long nowNs) {
        listener.drops.add(
                () -> "dropped a connection from " + channel.remote() + ": " + why, nowNs);
        close();
    }

    /**
     * Goes as far as the bytes that are there allow. Answers are short: the socket takes one at
     * once, or the connection is dropped.
     */
    @Override
    void ready(long nowNs) {
        if (state == State.HELLO) {
            readHello(nowNs);
        }
        // Nothing may come before the challenge; this finds the end of the connection.
        if (state == State.TARGET && !done() && channel.fill(1)) {
            drop("it speaks out of turn", nowNs);
        }
        if (state == State.PROOF && !done()) {
            readProof(nowNs);
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
            state = State.TARGET;
            target = listener.target(received);
            if (target != null) {
                challenge(received, target.key, nowNs);
            }
            return;
        }
        root = root(received);
        if (root == null) {
            channel.send(Hello.unknown());
            channel.flush();
            drop("its unique id is not known here", nowNs);
            return;
        }
        challenge(received, root.key, nowNs);
    }

    private @Nullable Root root(Hello received) {
        if (received.kind() != Hello.RENDEZVOUS) {
            return null;
        }
        Number16 number = Number16.of(received.number());
        Root only = rootOfSocket;
        if (only == null) {
            return listener.roots.find(number);
        }
        return only.number.equals(number) ? only : null;
    }

    /** A target has come that this connection may have waited for. */
    void targetMayBeThere(LinkTarget.Name name, long nowNs) {
        Hello waiting = state == State.TARGET && !done() ? hello : null;
        LinkTarget found = waiting == null ? null : listener.target(waiting);
        if (waiting != null && found != null && found.name.equals(name)) {
            target = found;
            challenge(waiting, found.key, nowNs);
        }
    }

    private void challenge(Hello received, byte[] itsKey, long nowNs) {
        key = itsKey;
        nonce = Keys.random(Keys.BYTES);
        if (told(received.challenge(itsKey, nonce), nowNs)) {
            state = State.PROOF;
        }
    }

    private boolean told(byte[] message, long nowNs) {
        channel.send(message);
        channel.flush();
        if (!channel.idle()) {
            drop("it does not read", nowNs);
            return false;
        }
        return true;
    }

    private void readProof(long nowNs) {
        Hello received = hello;
        if (received == null) {
            return;
        }
        int payloadBytes = received.kind() == Hello.RENDEZVOUS ? MemberHello.BYTES : 0;
        if (!channel.fill(payloadBytes + Keys.BYTES)) {
            return;
        }
        byte[] message = channel.take(payloadBytes + Keys.BYTES);
        byte[] payload = received.verifyProof(key, nonce, message);
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
        if (told(Hello.ACCEPTED, nowNs)) {
            handOver();
            itsTarget.offer(received.from(), channel.fd);
        }
    }

    /** From now on the descriptor has another owner. */
    private void handOver() {
        channel.configure();
        listener.unproven.remove(this);
        leave();
    }
}
