package org.jccl.transport;

import org.jccl.fuzz.FuzzTarget;
import org.jccl.platform.Memory;
import org.jccl.platform.ProcessIdentity;
import org.jccl.type.ErrorKind;
import org.jccl.type.Operation;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The bytes that a rank reads from memory which another process writes. */
public final class TransportTargets {
    private static final int RANKS = 3;
    private static final int HEADER_BYTES = 64;
    private static final int STATUS_BYTES = 12 + RegionLayout.STATUS_TEXT_BYTES;
    private static final byte[] NONCE = new byte[RegionLayout.NONCE_BYTES];
    private static final long CALL = 37;
    private static final int PID = ProcessIdentity.current().pid();

    private TransportTargets() {}

    /** All targets of this package. */
    public static List<FuzzTarget> all() {
        return List.of(header(), status(), record());
    }

    private static Region own() {
        return Region.create(RANKS, 1, NONCE);
    }

    private static Region mate(Region own) {
        return Region.open(RANKS, 1, PID, own.descriptor(), NONCE);
    }

    private static byte[] copyOf(long address, int bytes) {
        byte[] copy = new byte[bytes];
        Memory.copyOut(address, copy, 0, bytes);
        return copy;
    }

    /** Writes what fits, as any process could that may write the memory. */
    private static void overwrite(long address, byte[] input, int most) {
        Memory.copyIn(input, 0, address, Math.min(input.length, most));
    }

    private static byte[] longs(long... values) {
        ByteBuffer out = ByteBuffer.allocate(8 * values.length).order(ByteOrder.nativeOrder());
        for (long value : values) {
            out.putLong(value);
        }
        return out.array();
    }

    private static FuzzTarget header() {
        byte[] valid;
        try (Region own = own()) {
            valid = copyOf(own.base(), HEADER_BYTES);
        }
        return new FuzzTarget(
                "region-header",
                20,
                List.of(valid),
                input -> {
                    try (Region own = own()) {
                        overwrite(own.base(), input, HEADER_BYTES);
                        mate(own).close();
                        return "opened";
                    }
                },
                Set.of("opened"),
                Map.of("another's", "is not the shared memory of rank 1"));
    }

    private static FuzzTarget status() {
        Region mirror = Region.mirror(RANKS, 1);
        mirror.publishStatus(6, 2, "rank 2 is lost");
        byte[] failed = copyOf(mirror.base() + RegionLayout.STATUS, STATUS_BYTES);
        mirror.publishStatus(Region.LEFT, 1, "it left");
        byte[] left = copyOf(mirror.base() + RegionLayout.STATUS, STATUS_BYTES);
        return new FuzzTarget(
                "region-status",
                2,
                List.of(failed, left, new byte[STATUS_BYTES]),
                input -> {
                    overwrite(
                            mirror.base() + RegionLayout.STATUS,
                            new byte[STATUS_BYTES],
                            STATUS_BYTES);
                    overwrite(mirror.base() + RegionLayout.STATUS, input, STATUS_BYTES);
                    if (mirror.status() == 0) {
                        return "well";
                    }
                    if (mirror.hasLeft()) {
                        return "left";
                    }
                    String text = mirror.statusText();
                    throw ErrorKind.REPORTED.says(
                            text.equals("(unreadable status text)") ? text : "says: " + text);
                },
                Set.of("well", "left"),
                Map.of("unreadable", "(unreadable status text)", "failed", "says: "));
    }

    private static FuzzTarget record() {
        Region mirror = Region.mirror(RANKS, 1);
        int slot = (int) (CALL & (RegionLayout.RECORD_COUNT - 1));
        long at = mirror.base() + RegionLayout.RECORDS + (long) slot * RegionLayout.RECORD_BYTES;
        long reduce = CallRecord.describe(Operation.ALL_REDUCE.number(), 7, 0, 0);
        long broadcast = CallRecord.describe(Operation.BROADCAST.number(), 2, 0, 2);
        long split = CallRecord.describe(Operation.ALL_GATHER.number(), 1, CallRecord.SPLIT, 0);
        return new FuzzTarget(
                "call-record",
                2,
                List.of(
                        longs(CALL, reduce, 1000),
                        longs(CALL, broadcast, 1),
                        longs(CALL, split, 9),
                        longs(CALL - 1, reduce, 1)),
                input -> {
                    overwrite(at, new byte[RegionLayout.RECORD_BYTES], RegionLayout.RECORD_BYTES);
                    overwrite(at, input, RegionLayout.RECORD_BYTES);
                    CallRecord.pointToPointText(Memory.getLong(at + 8), Memory.getLong(at + 16));
                    String text = CallRecord.read(mirror.base(), CALL);
                    throw ErrorKind.CALLED_DIFFERENTLY.says(text);
                },
                Set.of(),
                Map.of(
                        "forgotten", "no longer recorded",
                        "split", "ncclCommSplit",
                        "unknown", "call 37 unknown(",
                        "named", "call 37 nccl"));
    }
}
