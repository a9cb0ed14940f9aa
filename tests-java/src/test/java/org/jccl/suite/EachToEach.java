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
    /** How many parts of the numbers there are that begin elsewhere. */
    private static final int SHIFTS = 1 << 16;

    private final Communicator comm;
    private final int me;
    private final int n;
    private final int longs;

    /** The numbers from 0 on: what a rank has for another one is a part of these. */
    private final MemorySegment numbers;

    private final MemorySegment send;
    private final MemorySegment recv;

    /** The buffers of this rank, with this many bytes for each rank. */
    EachToEach(Communicator comm, Arena arena, int bytes) {
        this.comm = comm;
        this.me = comm.rank();
        this.n = comm.count();
        this.longs = bytes / Long.BYTES;
        this.numbers = arena.allocate((long) (longs + SHIFTS) * Long.BYTES, Long.BYTES);
        for (int i = 0; i < longs + SHIFTS; i++) {
            numbers.setAtIndex(ValueLayout.JAVA_LONG, i, i);
        }
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

    /** Where what rank {@code from} has for rank {@code to} in this round begins. */
    private static long first(int from, int to, int round) {
        return (from * 37 + to * 1201 + round * 4099) & (SHIFTS - 1);
    }

    private void fill(int round) {
        long bytes = (long) longs * Long.BYTES;
        for (int to = 0; to < n; to++) {
            long at = first(me, to, round) * Long.BYTES;
            MemorySegment.copy(numbers, at, send, to * bytes, bytes);
        }
    }

    private void check(MemorySegment found, int round) {
        long bytes = (long) longs * Long.BYTES;
        for (int from = 0; from < n; from++) {
            long first = first(from, me, round);
            long at = first * Long.BYTES;
            long begin = from * bytes;
            long differs =
                    MemorySegment.mismatch(found, begin, begin + bytes, numbers, at, at + bytes);
            if (differs >= 0) {
                long i = differs / Long.BYTES;
                long is = found.getAtIndex(ValueLayout.JAVA_LONG, (long) from * longs + i);
                throw new AssertionError(
                        String.format(
                                "rank %d round %d: from %d element %d is %d, not %d",
                                me, round, from, i, is, first + i));
            }
        }
    }
}
