package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.jccl.Collectives;
import org.jccl.type.DataType;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Buffers of one rank for messages to and from everybody. */
final class Messages {
    private static final DataType TYPE = DataType.INT8;

    final Seat seat;
    final int[] sizes;
    final List<MemorySegment> out = new ArrayList<>();
    final List<MemorySegment> in = new ArrayList<>();

    /** sizes: of the messages of each pair, in bytes; odd ones begin at odd addresses. */
    Messages(Seat seat, int... sizes) {
        this.seat = seat;
        this.sizes = sizes;
        for (int q = 0; q < seat.rank.nRanks(); q++) {
            for (int k = 0; k < sizes.length; k++) {
                out.add(seat.device.memory(sizes[k] + 1L));
                in.add(seat.device.memory(sizes[k] + 1L));
            }
        }
    }

    private MemorySegment part(List<MemorySegment> of, int q, int k) {
        return of.get(q * sizes.length + k).asSlice(sizes[k] % 2, sizes[k]);
    }

    void fill(int round) {
        for (int q = 0; q < seat.rank.nRanks(); q++) {
            for (int k = 0; k < sizes.length; k++) {
                if (sizes[k] > 0) {
                    int me = seat.rank.number();
                    MemorySegment sent = message(seat, me, q, k + round, sizes[k]);
                    seat.device.put(part(out, q, k), sent);
                }
            }
        }
    }

    /** In an order of this rank's own, but for each pair's. */
    void exchange(Random random, Collectives comm) {
        int[] sent = new int[seat.rank.nRanks()];
        int[] received = new int[seat.rank.nRanks()];
        int left = 2 * sent.length * sizes.length;
        while (left > 0) {
            int q = random.nextInt(sent.length);
            boolean sends = random.nextBoolean();
            int[] done = sends ? sent : received;
            if (done[q] < sizes.length) {
                int k = done[q]++;
                left--;
                if (sends) {
                    comm.send(part(out, q, k), sizes[k], TYPE, q);
                } else {
                    comm.recv(part(in, q, k), sizes[k], TYPE, q);
                }
            }
        }
    }

    void check(int round) {
        for (int q = 0; q < seat.rank.nRanks(); q++) {
            for (int k = 0; k < sizes.length; k++) {
                MemorySegment want = message(seat, q, seat.rank.number(), k + round, sizes[k]);
                MemorySegment got = seat.host.allocate(sizes[k] + 1L).asSlice(0, sizes[k]);
                if (sizes[k] > 0) {
                    seat.device.get(got, part(in, q, k));
                }
                assertEquals(-1, got.mismatch(want), "from " + q + ", message " + k);
            }
        }
    }

    void release() {
        out.forEach(seat.device::release);
        in.forEach(seat.device::release);
    }

    /** Bytes that depend on who sends what to whom. */
    static MemorySegment message(Seat seat, int from, int to, int number, long bytes) {
        MemorySegment content = seat.host.allocate(bytes + 1);
        for (long i = 0; i < bytes; i++) {
            long value = (i * 31 + i / 251) + 7L * from + 13L * to + 17L * number;
            content.set(ValueLayout.JAVA_BYTE, i, (byte) value);
        }
        return content.asSlice(0, bytes);
    }
}
