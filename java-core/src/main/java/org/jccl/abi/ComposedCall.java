package org.jccl.abi;

import org.jccl.call.Call;
import org.jccl.call.Composed;
import org.jccl.call.StridedCopy;
import org.jccl.call.StridedCopy.Extent;
import org.jccl.comm.Comm;
import org.jccl.comm.Operations;
import org.jccl.group.Group;
import org.jccl.platform.Memory;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.Operation;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** Reads and checks the words of {@code jcclStartComposed}, which {@code jccl.h} describes. */
final class ComposedCall {
    /** Words before the copies and transfers. */
    private static final int HEADER = 10;

    /** Words of a transfer. */
    private static final int TRANSFER = 5;

    /** Words of a copy before its dimensions. */
    private static final int COPY = 4;

    private static final int MAX_DIMENSIONS = 64;

    /** More bytes than a process can have. */
    private static final long MOST_BYTES = 1L << 48;

    private final long words;
    private final long n;
    private long at = HEADER;

    /**
     * Takes the words of a call, and reads none of them yet.
     *
     * @param words address of the first
     * @param n how many there are
     * @throws NcclException INVALID_ARGUMENT if there are too few
     */
    ComposedCall(long words, long n) {
        Checked.pointer("StartComposed", "words", words);
        if (n < HEADER || n > Integer.MAX_VALUE) {
            throw wrong(n + " words; the first " + HEADER + " say what the others are");
        }
        this.words = words;
        this.n = n;
    }

    private static NcclException wrong(String what) {
        return ErrorKind.STARTED_UNKNOWN.says("StartComposed : %s", what);
    }

    private long word(long i) {
        return Memory.getLong(words + 8 * i);
    }

    int operation() {
        return small(0);
    }

    /** The word as an int; -1, which is never valid, if it does not fit. */
    private int small(long i) {
        long value = word(i);
        return value == (int) value ? (int) value : -1;
    }

    /**
     * The call, with its copies and transfers.
     *
     * @throws NcclException INVALID_ARGUMENT if the words describe no call
     */
    Call read(Comm comm, Operation op) {
        Composed composed = composed(comm, op);
        return Group.call(op.number())
                .buffers(word(1), word(2))
                .elements(word(3), small(4))
                .reducedBy(small(5))
                .with(small(6))
                .composed(composed);
    }

    private Composed composed(Comm comm, Operation op) {
        boolean own = !op.exchanges() || word(1) != 0 || word(2) != 0;
        if (own && word(8) != 0) {
            throw wrong(word(8) + " transfers of nccl" + op.ncclName());
        }
        List<StridedCopy> before = list(word(7), " copies", this::copy);
        List<Call> transfers = list(word(8), " transfers", () -> transfer(comm));
        List<StridedCopy> after = list(word(9), " copies", this::copy);
        if (at != n) {
            throw wrong(n + " words, of which only " + at + " mean something");
        }
        return new Composed(before, transfers, after);
    }

    private long take(long more) {
        if (more < 0 || more > n - at) {
            throw wrong(n + " words are fewer than they say");
        }
        long first = at;
        at += more;
        return first;
    }

    /** Reads one item after the other, as many as the words say. */
    private <T> List<T> list(long total, String what, Supplier<T> item) {
        if (total < 0 || total > n) {
            throw wrong(total + what + " in " + n + " words");
        }
        List<T> items = new ArrayList<>((int) total);
        for (long i = 0; i < total; i++) {
            items.add(item.get());
        }
        return items;
    }

    private StridedCopy copy() {
        long head = take(COPY);
        long elementBytes = word(head + 2);
        long dimensions = word(head + 3);
        if (elementBytes < 1 || dimensions < 0 || dimensions > MAX_DIMENSIONS) {
            String elements = "a copy of elements of " + elementBytes + " bytes";
            throw wrong(elements + " in " + dimensions + " dimensions");
        }
        List<Extent> extents = new ArrayList<>();
        boolean any = true;
        long span = Math.min(elementBytes, MOST_BYTES);
        for (int i = 0; i < dimensions; i++) {
            long one = take(3);
            Extent extent = new Extent(word(one), word(one + 1), word(one + 2));
            any &= extent.count() != 0;
            span = reach(span, extent);
            if (extent.count() < 0) {
                throw wrong("a copy of " + extent.count() + " elements along a dimension");
            }
            extents.add(extent);
        }
        if (any) {
            if (span >= MOST_BYTES) {
                throw wrong("a copy of more bytes than there can be; count in elements");
            }
            requireAddress("source of a copy", word(head));
            requireAddress("target of a copy", word(head + 1));
        }
        return StridedCopy.of(word(head), word(head + 1), elementBytes, extents);
    }

    private static long distance(long stride) {
        return stride == Long.MIN_VALUE ? MOST_BYTES : Math.min(Math.abs(stride), MOST_BYTES);
    }

    /** How far a copy reaches with one more dimension, MOST_BYTES at most. */
    private static long reach(long span, Extent extent) {
        long stride = Math.max(distance(extent.fromStride()), distance(extent.toStride()));
        long steps = Math.max(0, extent.count() - 1);
        boolean far = stride > 0 && steps > MOST_BYTES / stride;
        return far ? MOST_BYTES : Math.min(MOST_BYTES, span + steps * stride);
    }

    private static void requireAddress(String what, long address) {
        Checked.pointer("StartComposed", what, address);
        if (address < 0 || address > Long.MAX_VALUE - 2 * MOST_BYTES) {
            throw wrong("0x" + Long.toHexString(address) + " is no address");
        }
    }

    private Call transfer(Comm comm) {
        long head = take(TRANSFER);
        Operation op = Operation.of(small(head));
        if (op == null || !op.pointToPoint()) {
            throw wrong("a transfer is jcclSend or jcclRecv, not " + word(head));
        }
        int peer = small(head + 4);
        Call call =
                new Call()
                        .of(op)
                        .buffer(word(head + 1))
                        .elements(word(head + 2), small(head + 3))
                        .with(peer);
        Operations.check(comm, call);
        if (peer == comm.rank()) {
            throw wrong("rank " + peer + " sends to itself in nccl" + op.ncclName() + "; copy");
        }
        return call;
    }
}
