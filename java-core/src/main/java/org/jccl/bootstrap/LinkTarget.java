package org.jccl.bootstrap;

import org.jccl.platform.Sockets;
import org.jccl.platform.Wakeup;
import org.jspecify.annotations.Nullable;

import java.util.Arrays;
import java.util.stream.IntStream;

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
    private static final int UNWANTED = -3;

    final Name name;
    final byte[] key;

    /** Signalled when a connection has come, or when nothing more can come. */
    final Wakeup wakeup = new Wakeup();

    /** By rank: the connection, or ABSENT, TAKEN or UNWANTED. */
    private final int[] descriptors;

    private @Nullable String obstacle;

    /** The target of a rank: the lower ones of its peers connect to it, and it to the higher. */
    LinkTarget(Name name, byte[] key, int nRanks, int[] peers) {
        this.name = name;
        this.key = key;
        this.descriptors = new int[nRanks];
        Arrays.fill(descriptors, UNWANTED);
        for (int peer : peers) {
            descriptors[peer] = ABSENT;
        }
    }

    /** Why a connection from this rank is not wanted, or null if it is. */
    synchronized @Nullable String refusal(int from) {
        if (from >= name.rank() || descriptors[from] == UNWANTED) {
            return "rank " + name.rank() + " expects none from rank " + from;
        }
        return descriptors[from] == TAKEN
                ? "rank " + name.rank() + " has one from rank " + from
                : null;
    }

    /** Gives it a connection with a rank, which replaces an older one that was not taken yet. */
    synchronized void offer(int from, int fd) {
        if (descriptors[from] == TAKEN || descriptors[from] == UNWANTED) {
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

    /** The peers whose connection is not there yet. */
    synchronized int[] missing() {
        return IntStream.range(0, descriptors.length)
                .filter(each -> descriptors[each] == ABSENT)
                .toArray();
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

    /** Closes what was not taken; nothing is wanted any more. */
    synchronized void close() {
        for (int fd : descriptors) {
            if (fd >= 0) {
                Sockets.close(fd);
            }
        }
        Arrays.fill(descriptors, UNWANTED);
        wakeup.close();
    }
}
