package org.jccl.bootstrap;

import org.jccl.type.Unforeseen;

import java.nio.ByteBuffer;

/** A rank's connection as its root sees it. Belongs to the thread jccl-net. */
final class Member extends Pollable {
    private static final long REMIND_NS = 500_000_000L;

    /** A member must not keep the thread from the others. */
    private static final int MESSAGES_PER_TURN = 64;

    private final Root root;
    private final Channel channel;
    final MemberHello hello;
    private long remindNs = NEVER;

    /** Whether the root, which sets this, counts it among its ranks. */
    boolean joined;

    /** Whether it has said that it leaves. */
    boolean left;

    Member(Root root, Channel channel, MemberHello hello) {
        super(channel.fd);
        this.root = root;
        this.channel = channel;
        this.hello = hello;
    }

    /** It has contributed and waits for the others. */
    void waits(long nowNs) {
        remindNs = nowNs + REMIND_NS;
    }

    void tell(byte[] messages) {
        // Once it is closed, its descriptor may be that of something else.
        if (!done()) {
            channel.send(messages);
        }
    }

    /** The result of the round for which it waited. */
    void deliver(byte[] messages) {
        remindNs = NEVER;
        tell(messages);
    }

    @Override
    short events() {
        return channel.events();
    }

    @Override
    void ready(long nowNs) {
        // The poll does not see what was read ahead.
        for (int i = 0; (i < MESSAGES_PER_TURN || channel.hasMessage()) && !done(); i++) {
            ByteBuffer message = channel.message();
            if (message != null) {
                read(message, nowNs);
                continue;
            }
            if (channel.ended()) {
                end(channel.endText());
            }
            return;
        }
    }

    private void read(ByteBuffer message, long nowNs) {
        byte type = message.get();
        boolean mayAct = joined && !left && message.remaining() >= Integer.BYTES;
        if (type == RootMessage.BYE) {
            left = true;
            remindNs = NEVER;
            root.left(this);
        } else if (type == RootMessage.BLOB && mayAct) {
            root.contribute(this, message.getInt(), RootMessage.rest(message), nowNs);
        } else if (type == RootMessage.FAILED && mayAct) {
            root.gaveUp(hello.name(), RootMessage.readFailure(message));
        } else if (joined) {
            end("it sent nonsense");
        }
    }

    @Override
    long deadlineNs() {
        return remindNs;
    }

    @Override
    void expired(long nowNs) {
        remindNs = NEVER;
        if (channel.idle()) {
            root.remind(this, nowNs);
        } else {
            waits(nowNs);
        }
    }

    @Override
    void failed(Throwable why, long nowNs) {
        if (!done()) {
            try {
                root.fail(Unforeseen.of(why, "at the root"));
            } finally {
                end("the root failed to serve it");
            }
        }
    }

    private void end(String how) {
        close();
        root.gone(this, how);
    }
}
