package org.jccl.suite;

import org.jccl.Communicator;
import org.jccl.Group;
import org.jccl.type.DataType;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Each rank has something else for each, itself included, and in each round something else again;
 * what has come is compared.
 */
final class EachToEach {
    private final Communicator comm;
    private final int me;
    private final int n;
    private final int longs;
    private final MemorySegment send;
    private final MemorySegment recv;

    /** The buffers of this rank, with this many bytes for each rank. */
    EachToEach(Communicator comm, Arena arena, int bytes) {
        this.comm = comm;
        this.me = comm.rank();
        this.n = comm.count();
        this.longs = bytes / Long.BYTES;
        this.send = arena.allocate((long) n * longs * Long.BYTES, 64);
        this.recv = arena.allocate(send.byteSize(), 64);
    }

    /** By sends and receives in one group. */
    void byGroup(int round) {
        fill(round);
        long bytes = (long) longs * Long.BYTES;
        Group.run(
                () -> {
                    for (int q = 0; q < n; q++) {
                        MemorySegment to = send.asSlice(q * bytes, bytes);
                        MemorySegment from = recv.asSlice(q * bytes, bytes);
                        comm.send(to, longs, DataType.INT64, q);
                        comm.recv(from, longs, DataType.INT64, q);
                    }
                });
        check(recv, round);
    }

    /** By AlltoAll. */
    void byAllToAll(int round) {
        fill(round);
        comm.allToAll(send, recv, longs, DataType.INT64);
        check(recv, round);
    }

    /** By AlltoAll in place. */
    void inPlace(int round) {
        fill(round);
        comm.allToAll(send, send, longs, DataType.INT64);
        check(send, round);
    }

    /** Element i of what rank {@code from} has for rank {@code to} in this round. */
    private static long value(int from, int to, int round, int i) {
        return ((long) from << 48) + ((long) to << 32) + ((long) round << 24) + i;
    }

    private void fill(int round) {
        for (int to = 0; to < n; to++) {
            for (int i = 0; i < longs; i++) {
                long index = (long) to * longs + i;
                send.setAtIndex(ValueLayout.JAVA_LONG, index, value(me, to, round, i));
            }
        }
    }

    private void check(MemorySegment found, int round) {
        for (int from = 0; from < n; from++) {
            for (int i = 0; i < longs; i++) {
                long is = found.getAtIndex(ValueLayout.JAVA_LONG, (long) from * longs + i);
                if (is != value(from, me, round, i)) {
                    String where = "rank " + me + " round " + round + ": from " + from;
                    throw new AssertionError(
                            where + " element " + i + " is " + Long.toHexString(is));
                }
            }
        }
    }
}
