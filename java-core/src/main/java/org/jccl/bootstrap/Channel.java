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
import java.util.Collections;
import java.util.Deque;
import java.util.Objects;

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
        return fill(wanted, 0);
    }

    private boolean fill(int wanted, int ahead) {
        if (inCount >= wanted) {
            return true;
        }
        flush();
        long staging = STAGING.get().address();
        while (inCount < wanted && !ended) {
            int room = Math.min(Math.max(wanted - inCount, ahead), STAGING_BYTES);
            long received = Sockets.recv(fd, staging, room);
            if (received > 0) {
                int bytes = (int) received;
                makeRoom(Math.max(wanted, inCount + bytes));
                Memory.copyOut(staging, in, inFrom + inCount, bytes);
                inCount += bytes;
            } else if (received == -Errno.EAGAIN) {
                return false;
            } else {
                ended = true;
                errno = errno == 0 ? (int) -received : errno;
            }
        }
        return inCount >= wanted;
    }

    /** Makes room for this many bytes, including those that are there. */
    private void makeRoom(int bytes) {
        if (inFrom + bytes > in.length) {
            byte[] larger = bytes > in.length ? new byte[bytes] : in;
            System.arraycopy(in, inFrom, larger, 0, inCount);
            in = larger;
            inFrom = 0;
        }
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
        if (!fill(RootMessage.HEADER_BYTES, AHEAD_BYTES)) {
            return null;
        }
        int length = ByteBuffer.wrap(in).getInt(inFrom);
        if (!RootMessage.isPossibleLength(length)) {
            boolean known = ended;
            ended = true;
            return known ? null : ByteBuffer.wrap(new byte[] {RootMessage.NONSENSE});
        }
        if (!fill(RootMessage.HEADER_BYTES + length, AHEAD_BYTES)) {
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
    void send(byte[]... messages) {
        Collections.addAll(out, messages);
        flush();
    }

    /** Whether everything queued has been given to the socket. */
    boolean idle() {
        return out.isEmpty();
    }

    private void flush() {
        long staging = STAGING.get().address();
        while (!out.isEmpty() && !ended) {
            int staged = stage(staging);
            long sent = Sockets.send(fd, staging, staged);
            if (sent == -Errno.EAGAIN) {
                return;
            }
            if (sent < 0) {
                // The last words of the peer may still be read.
                out.clear();
                errno = (int) -sent;
                return;
            }
            drop((int) sent);
        }
    }

    private int stage(long staging) {
        int staged = 0;
        int offset = outOffset;
        for (byte[] each : out) {
            int bytes = Math.min(each.length - offset, STAGING_BYTES - staged);
            Memory.copyIn(each, offset, staging + staged, bytes);
            staged += bytes;
            offset = 0;
            if (staged == STAGING_BYTES) {
                break;
            }
        }
        return staged;
    }

    private void drop(int sent) {
        int left = sent;
        while (left > 0) {
            int head = Objects.requireNonNull(out.peek()).length - outOffset;
            if (head > left) {
                outOffset += left;
                return;
            }
            left -= head;
            outOffset = 0;
            out.remove();
        }
    }

    /** Closes the socket. */
    void close() {
        Sockets.close(fd);
    }
}
