package org.jccl.transport.net;

import org.jccl.platform.Errno;
import org.jccl.platform.Memory;
import org.jccl.platform.SharedMemory;
import org.jccl.platform.Sockets;
import org.jccl.transport.Frame;
import org.jccl.transport.Peer;
import org.jccl.transport.Region;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

/**
 * A connected, authenticated TCP socket to one rank of a communicator, and that rank's mirror.
 *
 * <p>Arriving payload goes straight to its place in the mirror, for which the schedules' credits
 * guarantee room; so receiving never waits, and two ranks that send to each other cannot block. At
 * most {@link #QUEUE} frames wait to be sent; their payload stays where the caller has it.
 *
 * <p>Used by the owner of the communicator only.
 */
public final class NetLink extends Peer {
    /** Bound of the queue of frames to send. */
    static final int QUEUE = 64;

    /** Bytes read from one socket, or discarded, before the others get their turn. */
    private static final long TURN = 4L << 20;

    /** A link at which nobody has looked for so long is read before anything is sent on it. */
    private static final long QUIET_NS = 50_000_000;

    /** How long a quiet link is given to finish a frame, whatever its peer does. */
    private static final long QUIET_LIMIT_NS = 5_000_000;

    private static final String HOST_LOST =
            " (the machine or the network between is lost; JCCL_HOST_LOST sets the limit)";

    private static final int AGAIN = -Errno.EAGAIN;

    private final int descriptor;
    private final int nRanks;

    /** Headers of the frames to send, then that of the one that arrives, then two ranges. */
    private final SharedMemory headers =
            SharedMemory.anonymous((QUEUE + 1L) * Frame.HEADER_BYTES + 2L * Memory.RANGE_BYTES);

    private final long arriving = headers.address() + (long) QUEUE * Frame.HEADER_BYTES;
    private final long ranges = arriving + Frame.HEADER_BYTES;
    private final long[] payload = new long[QUEUE];
    private final int[] payloadBytes = new int[QUEUE];
    private long head;
    private long tail;
    private long sentOfHead;
    private long received;
    private long lookedNs = System.nanoTime();
    private @Nullable SharedMemory rescued;
    private boolean dropped;
    private boolean saidAll;
    private boolean parted;
    private boolean lost;
    private @Nullable String ended;

    /** Takes ownership of the descriptor and of the mirror. */
    public NetLink(int descriptor, int nRanks, Region mirror) {
        super(mirror);
        this.descriptor = descriptor;
        this.nRanks = nRanks;
        // It would also end a link whose peer is stopped and reads nothing; see silent().
        Sockets.setUserTimeout(descriptor, 0);
    }

    @Override
    public boolean isRemote() {
        return true;
    }

    @Override
    public boolean endsAlone() {
        return true;
    }

    @Override
    public int descriptor() {
        return descriptor;
    }

    /** Why nothing more can arrive, or null while the connection is open; asks nobody. */
    @Override
    public @Nullable String ended() {
        return ended;
    }

    @Override
    public boolean heardOut() {
        return ended != null && received == -1;
    }

    /**
     * Whether the peer's machine has answered nothing for so long that it counts as lost, which
     * then shows in {@link #ended}. A peer that is stopped is no reason: its system answers.
     */
    @Override
    public boolean silent(long limitMs) {
        if (ended != null || limitMs <= 0) {
            return false;
        }
        long ms = Sockets.silenceMs(descriptor);
        if (ms < limitMs) {
            return false;
        }
        received = -1;
        lost = true;
        giveUp("its machine has not answered for " + ms + " ms" + HOST_LOST);
        return true;
    }

    @Override
    public boolean sending() {
        return head != tail;
    }

    @Override
    public boolean post(Frame frame) {
        if (tail - head == QUEUE && (!flush() && tail - head == QUEUE)) {
            return false;
        }
        int slot = (int) (tail % QUEUE);
        frame.write(headers.address() + (long) slot * Frame.HEADER_BYTES);
        payload[slot] = frame.address();
        payloadBytes[slot] = frame.length();
        tail++;
        flush();
        return true;
    }

    @Override
    public boolean read(long from, long to, long bytes) {
        throw ErrorKind.IMPOSSIBLE.says(
                "the memory of rank %s is on another node", region().rank());
    }

    @Override
    public boolean flush() {
        if (head != tail) {
            hear();
        }
        return sendQueued();
    }

    /**
     * Reads a quiet link before something is sent on it: if the peer's process has ended, its
     * system answers what is sent with a reset, and destroys what this side has not read yet, which
     * says why the peer ended.
     */
    private void hear() {
        if (received == -1 || System.nanoTime() - lookedNs < QUIET_NS) {
            return;
        }
        try {
            receive();
            long began = System.nanoTime();
            while (received > 0 && System.nanoTime() - began < QUIET_LIMIT_NS) {
                if (!receive()) {
                    Sockets.pollOne(descriptor, Sockets.POLLIN, 1);
                }
            }
        } catch (NcclException e) {
            // Shows in ended.
        }
    }

    private boolean sendQueued() {
        while (head != tail) {
            int slot = (int) (head % QUEUE);
            long header = headers.address() + (long) slot * Frame.HEADER_BYTES;
            long total = (long) Frame.HEADER_BYTES + payloadBytes[slot];
            long n;
            if (sentOfHead < Frame.HEADER_BYTES) {
                Memory.putRange(ranges, header + sentOfHead, Frame.HEADER_BYTES - sentOfHead);
                Memory.putRange(ranges + Memory.RANGE_BYTES, payload[slot], payloadBytes[slot]);
                n = Sockets.sendRanges(descriptor, ranges, 2);
            } else {
                long done = sentOfHead - Frame.HEADER_BYTES;
                n = Sockets.send(descriptor, payload[slot] + done, payloadBytes[slot] - done);
            }
            if (n == AGAIN) {
                return false;
            }
            if (n < 0) {
                giveUp(broken(n));
                return true;
            }
            sentOfHead += n;
            if (sentOfHead == total) {
                head++;
                sentOfHead = 0;
            }
        }
        return true;
    }

    /** Drops what waits to be sent. */
    private void giveUp(String why) {
        head = tail;
        sentOfHead = 0;
        dropped = true;
        ended = ended == null ? why : ended;
    }

    @Override
    public boolean dropped() {
        return dropped;
    }

    /**
     * Reads what has arrived into the mirror.
     *
     * @return whether anything arrived or the connection ended
     * @throws NcclException REMOTE_ERROR if a frame is impossible
     */
    @Override
    public boolean receive() {
        if (ended != null && received == -1) {
            return false;
        }
        lookedNs = System.nanoTime();
        long turn = 0;
        while (turn < TURN) {
            long n;
            if (received < Frame.HEADER_BYTES) {
                n = Sockets.recv(descriptor, arriving + received, Frame.HEADER_BYTES - received);
            } else {
                long done = received - Frame.HEADER_BYTES;
                n = Sockets.recv(descriptor, target() + done, Frame.length(arriving) - done);
            }
            if (n == AGAIN) {
                return turn > 0;
            }
            if (n <= 0) {
                end(n);
                return true;
            }
            received += n;
            turn += n;
            if (received == Frame.HEADER_BYTES) {
                accept();
            }
            if (received >= Frame.HEADER_BYTES
                    && received == Frame.HEADER_BYTES + Frame.length(arriving)) {
                received = 0;
                Frame.complete(arriving, region().base(), nRanks);
            }
        }
        return true;
    }

    private void accept() {
        try {
            Frame.validate(arriving, nRanks, region().rank());
        } catch (NcclException e) {
            received = -1;
            ended = "it sent something impossible: " + e.getMessage();
            throw e;
        }
    }

    private long target() {
        return region().address(Frame.area(arriving)) + Frame.offset(arriving);
    }

    private static String broken(long n) {
        int errno = (int) -n;
        boolean silence =
                errno == Errno.ETIMEDOUT
                        || errno == Errno.EHOSTUNREACH
                        || errno == Errno.ENETUNREACH;
        return "its connection broke: " + Errno.text(errno) + (silence ? HOST_LOST : "");
    }

    private void end(long n) {
        received = -1;
        if (ended == null || n == 0) {
            ended = n == 0 ? "its process ended or closed the connection" : broken(n);
        }
    }

    /**
     * Makes the link independent of the caller's buffers: nothing that waits is read from them
     * after this returns. Frames not yet begun are dropped; the rest of a begun one is copied.
     */
    @Override
    public void rescue() {
        if (head == tail) {
            return;
        }
        int slot = (int) (head % QUEUE);
        if (sentOfHead == 0) {
            tail = head;
            return;
        }
        tail = head + 1;
        if (payloadBytes[slot] > 0 && rescued == null) {
            try {
                rescued = SharedMemory.anonymous(payloadBytes[slot]);
                Memory.copy(payload[slot], rescued.address(), payloadBytes[slot]);
                payload[slot] = rescued.address();
            } catch (NcclException noMemory) {
                giveUp("there was no memory for what remained to be sent");
                Sockets.shutdown(descriptor);
            }
        }
    }

    @Override
    public boolean part() {
        parted = parted || drain();
        if (!saidAll && flush()) {
            saidAll = true;
            Sockets.shutdown(descriptor);
        }
        return parted && saidAll;
    }

    /** Reads and discards what has arrived; whether the other side has ended, or is lost. */
    private boolean drain() {
        if (lost) {
            return true;
        }
        received = -1;
        ended = ended == null ? "this side has left" : ended;
        for (long discarded = 0; discarded < TURN; ) {
            long n = Sockets.discard(descriptor, TURN);
            if (n == AGAIN) {
                return false;
            }
            if (n <= 0) {
                return true;
            }
            discarded += n;
        }
        return false;
    }

    @Override
    protected void disconnect() {
        Sockets.close(descriptor);
        headers.close();
        if (rescued != null) {
            rescued.close();
        }
    }
}
