package org.jccl.bootstrap;

import org.jccl.platform.Sockets;
import org.jccl.platform.Wakeup;
import org.jspecify.annotations.Nullable;

import java.util.Arrays;

/**
 * The connections of one rank of one communicator, until it takes them: the thread jccl-net offers
 * those that the listener has accepted, the rank's thread those that it has made. Everything
 * mutable is under this object's lock.
 */
final class LinkTarget {
    /** The communicator's number and the rank. */
    record Name(Number16 communicator, int rank) {}

    private static final int ABSENT = -1;
    private static final int TAKEN = -2;

    final Name name;
    final byte[] key;

    /** Signalled when a connection has come, or when nothing more can come. */
    final Wakeup wakeup = new Wakeup();

    private final boolean[] expected;

    /** By rank: the connection, or ABSENT or TAKEN. */
    private final int[] descriptors;

    private boolean closed;
    private @Nullable String obstacle;

    /**
     * The target of a rank, which itself connects to those that it does not expect.
     *
     * @param expected by rank, whether it connects to this one
     */
    LinkTarget(Name name, byte[] key, boolean[] expected) {
        this.name = name;
        this.key = key;
        this.expected = expected;
        this.descriptors = new int[expected.length];
        Arrays.fill(descriptors, ABSENT);
    }

    /** Why a connection from this rank is not wanted, or null if it is. */
    synchronized @Nullable String refusal(int from) {
        if (closed || from >= descriptors.length || !expected[from]) {
            return "rank " + name.rank() + " expects none from rank " + from;
        }
        return descriptors[from] == TAKEN
                ? "rank " + name.rank() + " has one from rank " + from
                : null;
    }

    /** Gives it a connection with a rank, which replaces an older one that was not taken yet. */
    synchronized void offer(int from, int fd) {
        if (closed || descriptors[from] == TAKEN) {
            Sockets.close(fd);
            return;
        }
        if (descriptors[from] >= 0) {
            Sockets.close(descriptors[from]);
        }
        descriptors[from] = fd;
        wakeup.signal();
    }

    /** Nothing more can come. */
    synchronized void fail(String why) {
        obstacle = why;
        wakeup.signal();
    }

    /** Why nothing more can come, or null. */
    synchronized @Nullable String obstacle() {
        return obstacle;
    }

    synchronized boolean isThere(int from) {
        return descriptors[from] != ABSENT;
    }

    /** The connection from this rank; the caller closes it. */
    synchronized int take(int from) {
        int fd = descriptors[from];
        if (fd < 0) {
            throw new IllegalStateException("no connection from rank " + from);
        }
        descriptors[from] = TAKEN;
        return fd;
    }

    /** Closes what was not taken. */
    synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        for (int fd : descriptors) {
            if (fd >= 0) {
                Sockets.close(fd);
            }
        }
        wakeup.close();
    }
}
