package org.jccl.bootstrap;

import org.jccl.param.Params;
import org.jccl.platform.Errno;
import org.jccl.platform.Memory;
import org.jccl.platform.SocketAddress;
import org.jccl.platform.Sockets;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;

/**
 * A non-blocking connection that reads messages of known size and queues what it cannot send yet.
 * Before {@link #message} is called it never reads further than asked, so that it can be handed
 * over between two messages. Used by one thread at a time.
 */
final class Channel {
    private static final int STAGING_BYTES = 64 * 1024;

    /** Bytes read at once where message follows message: a round has one for each rank. */
    private static final int AHEAD_BYTES = 16 * 1024;

    private static final ThreadLocal<MemorySegment> STAGING =
            ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(STAGING_BYTES, 64));

    final int fd;
    private final Deque<byte[]> out = new ArrayDeque<>();
    private byte[] in = new byte[256];
    private int inFrom;
    private int inCount;
    private int outOffset;

    /** How much to read at least, if it is there: no more than wanted, or {@link #AHEAD_BYTES}. */
    private int atLeast;

    private boolean ended;
    private int errno;

    Channel(int fd) {
        this.fd = fd;
    }

    /**
     * Makes the socket send small messages at once, and notice that the other machine has gone,
     * whether or not bytes are on their way to it.
     */
    void configure() {
        Sockets.setNoDelay(fd);
        long lostMs = Params.HOST_LOST.get();
        if (lostMs > 0) {
            int seconds = (int) Math.min(Short.MAX_VALUE, lostMs / 1000);
            Sockets.setKeepAlive(fd, Math.max(1, seconds / 2), Math.max(1, seconds / 6));
            Sockets.setUserTimeout(fd, (int) Math.min(Integer.MAX_VALUE, lostMs));
        }
    }

    /** The address of the other end, for sentences. */
    String remote() {
        SocketAddress address = Sockets.remoteAddress(fd);
        return address == null ? "a peer that has gone" : address.toString();
    }

    /** The events to poll for. */
    short events() {
        return (short) (Sockets.POLLIN | (out.isEmpty() ? 0 : Sockets.POLLOUT));
    }

    /** Whether the peer has closed the connection or it broke; what came before is still there. */
    boolean ended() {
        return ended;
    }

    /** How it ended, for sentences. */
    String endText() {
        return errno == 0 ? "the connection was closed" : Errno.text(errno);
    }

    /** Sends and receives what it can; whether the next {@code wanted} bytes are there then. */
    boolean fill(int wanted) {
        if (inCount >= wanted) {
            return true;
        }
        flush();
        long staging = STAGING.get().address();
        while (inCount < wanted && !ended) {
            int room = Math.min(Math.max(wanted - inCount, atLeast), STAGING_BYTES);
            long received = Sockets.recv(fd, staging, room);
            if (received > 0) {
                append(staging, (int) received, wanted);
            } else if (received == -Errno.EAGAIN) {
                return false;
            } else {
                ended = true;
                errno = errno == 0 ? (int) -received : errno;
            }
        }
        return inCount >= wanted;
    }

    private void append(long staging, int bytes, int wanted) {
        int room = Math.max(wanted, inCount + bytes);
        if (inFrom + room > in.length) {
            in = Arrays.copyOfRange(in, inFrom, inFrom + room);
            inFrom = 0;
        }
        Memory.copyOut(staging, in, inFrom + inCount, bytes);
        inCount += bytes;
    }

    /** Whether the bytes that are there may become a hello. */
    boolean mayBeHello() {
        return Hello.mayBegin(Arrays.copyOfRange(in, inFrom, inFrom + inCount));
    }

    /** Takes bytes that {@link #fill} said are there. */
    byte[] take(int bytes) {
        byte[] taken = Arrays.copyOfRange(in, inFrom, inFrom + bytes);
        inFrom += bytes;
        inCount -= bytes;
        return taken;
    }

    /**
     * The content of the next message with its type in front, or null if it is not there yet. A
     * length that no message has ends the channel, after a message of a type that nobody knows.
     */
    @Nullable ByteBuffer message() {
        atLeast = AHEAD_BYTES;
        if (!fill(RootMessage.HEADER_BYTES)) {
            return null;
        }
        int length = ByteBuffer.wrap(in).getInt(inFrom);
        if (!RootMessage.isPossibleLength(length)) {
            boolean known = ended;
            ended = true;
            return known ? null : ByteBuffer.wrap(new byte[] {RootMessage.NONSENSE});
        }
        if (!fill(RootMessage.HEADER_BYTES + length)) {
            return null;
        }
        ByteBuffer message = ByteBuffer.wrap(take(RootMessage.HEADER_BYTES + length));
        return message.position(RootMessage.HEADER_BYTES);
    }

    /** Whether {@link #message} finds one that was read together with those before. */
    boolean hasMessage() {
        return inCount >= RootMessage.HEADER_BYTES
                && inCount - RootMessage.HEADER_BYTES >= ByteBuffer.wrap(in).getInt(inFrom);
    }

    /**
     * Queues bytes, which nobody may change any more, and gives the socket what it takes now.
     * Several channels may share them.
     */
    void send(byte[] bytes) {
        out.add(bytes);
        flush();
    }

    /** Whether everything queued has been given to the socket. */
    boolean idle() {
        return out.isEmpty();
    }

    private void flush() {
        long staging = STAGING.get().address();
        while (!out.isEmpty() && !ended) {
            byte[] head = out.element();
            int staged = Math.min(head.length - outOffset, STAGING_BYTES);
            Memory.copyIn(head, outOffset, staging, staged);
            long sent = Sockets.send(fd, staging, staged);
            if (sent == -Errno.EAGAIN) {
                return;
            }
            if (sent < 0) {
                // The last words of the peer may still be read.
                out.clear();
                outOffset = 0;
                errno = (int) -sent;
                return;
            }
            outOffset += (int) sent;
            if (outOffset == head.length) {
                out.remove();
                outOffset = 0;
            }
        }
    }

    /** Closes the socket. */
    void close() {
        Sockets.close(fd);
    }
}
