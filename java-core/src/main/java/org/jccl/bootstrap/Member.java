package org.jccl.bootstrap;

import org.jccl.type.NcclResult;
import org.jccl.type.Utf8;

import java.nio.ByteBuffer;

/** A rank's connection as its root sees it. Belongs to the thread jccl-net. */
final class Member implements Pollable {
    private static final long REMIND_NS = 500_000_000L;

    /** A member must not keep the thread from the others. */
    private static final int FRAMES_PER_TURN = 64;

    private final Root root;
    private final Channel channel;
    private final MemberHello hello;
    private boolean joined;
    private boolean left;
    private boolean closed;
    private long remindNs = NetAgent.NEVER;

    Member(Root root, Channel channel, MemberHello hello) {
        this.root = root;
        this.channel = channel;
        this.hello = hello;
    }

    MemberHello hello() {
        return hello;
    }

    /** The root counts it among its ranks. */
    void joined() {
        joined = true;
    }

    boolean isJoined() {
        return joined;
    }

    /** Whether it has said that it leaves. */
    boolean left() {
        return left;
    }

    /** It has contributed and waits for the others. */
    void waits(long nowNs) {
        remindNs = nowNs + REMIND_NS;
    }

    void tell(byte[] frame) {
        channel.send(frame);
        channel.flush();
    }

    void deliver(byte[][] frames) {
        remindNs = NetAgent.NEVER;
        for (byte[] frame : frames) {
            channel.send(frame);
        }
        channel.flush();
    }

    @Override
    public int fd() {
        return channel.fd();
    }

    @Override
    public short events() {
        return channel.events();
    }

    @Override
    public void ready(long nowNs) {
        channel.flush();
        // What was read ahead makes the socket ready for nobody.
        for (int i = 0; (i < FRAMES_PER_TURN || channel.hasFrame()) && !closed; i++) {
            ByteBuffer frame = channel.frame();
            if (frame != null) {
                read(frame, nowNs);
                continue;
            }
            if (channel.ended()) {
                end(channel.endText());
            }
            return;
        }
    }

    private void read(ByteBuffer frame, long nowNs) {
        byte type = frame.get();
        if (type == Frame.BYE) {
            left = true;
            remindNs = NetAgent.NEVER;
            root.left(this);
        } else if (type == Frame.BLOB && joined && !left && frame.remaining() >= Integer.BYTES) {
            int round = frame.getInt();
            byte[] blob = new byte[frame.remaining()];
            frame.get(blob);
            root.contribute(this, round, blob, nowNs);
        } else if (type == Frame.FAILED && joined && !left && frame.remaining() >= Integer.BYTES) {
            NcclResult result = NcclResult.ofFailure(frame.getInt());
            byte[] text = new byte[Math.min(Frame.MAX_TEXT_BYTES, frame.remaining())];
            frame.get(text);
            root.gaveUp(hello.name(), result, Utf8.decode(text));
        } else if (joined) {
            end("it sent nonsense");
        }
    }

    @Override
    public long deadlineNs() {
        return remindNs;
    }

    @Override
    public void expired(long nowNs) {
        remindNs = NetAgent.NEVER;
        if (channel.idle()) {
            root.remind(this, nowNs);
        } else {
            waits(nowNs);
        }
    }

    @Override
    public boolean done() {
        return closed;
    }

    private void end(String how) {
        close();
        root.gone(this, how);
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            channel.close();
        }
    }
}
