package org.jccl.transport;

import org.jccl.platform.Memory;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;

/**
 * What one rank sends another that does not reach its memory. A frame says: put these bytes at this
 * offset of that area of my mirror; then, if a call number is given, record that I make this call;
 * then, if a flag offset is given, store the flag.
 *
 * <p>On the way it is a header of 64 bytes in the sender's byte order (ranks agree on it at init),
 * and the bytes. Whoever sends keeps one object and fills it anew for each frame.
 */
public final class Frame {
    /** Size of the header. */
    public static final int HEADER_BYTES = 64;

    /** Largest payload; longer data travels in several frames. */
    public static final int MAX_PAYLOAD = 256 << 10;

    private static final int MAGIC = 0x4a434652;

    /** Words of the header; the upper half of the first one is the area's number. */
    private static final int MAGIC_AND_AREA = 0;

    private static final int LENGTH = 1;
    private static final int OFFSET = 2;
    private static final int FLAG_OFFSET = 3;
    private static final int FLAG_VALUE = 4;
    private static final int CALL_NUMBER = 5;
    private static final int CALL_DESCRIPTION = 6;
    private static final int CALL_COUNT = 7;

    private final long[] header = new long[HEADER_BYTES / Long.BYTES];
    private long address;

    /** Begins a frame without bytes, flag and call. */
    public Frame empty() {
        return bytes(Area.BASE, 0, 0, 0);
    }

    /**
     * Begins a frame of these bytes, without a flag and a call.
     *
     * @param to the area of the mirror, and {@code place} in it, where they belong
     * @param from the address where they are and stay until {@link Peer#sending} is false
     */
    public Frame bytes(Area to, long place, long from, int bytes) {
        address = from;
        header[MAGIC_AND_AREA] = (long) to.number() << 32 | MAGIC;
        header[LENGTH] = bytes;
        header[OFFSET] = place;
        call(0, 0, 0);
        return flag(-1, 0);
    }

    /**
     * Adds a flag.
     *
     * @param place where in the base area to store it, -1 for nowhere
     */
    public Frame flag(long place, long value) {
        header[FLAG_OFFSET] = place;
        header[FLAG_VALUE] = value;
        return this;
    }

    /** Adds the collective call that this belongs to; number 0 for none. */
    public void call(long number, long description, long count) {
        header[CALL_NUMBER] = number;
        header[CALL_DESCRIPTION] = description;
        header[CALL_COUNT] = count;
    }

    /** Where the bytes are. */
    public long address() {
        return address;
    }

    /** How many bytes there are. */
    public int length() {
        return (int) header[LENGTH];
    }

    /** Writes the header. */
    public void write(long at) {
        for (int word = 0; word < header.length; word++) {
            Memory.putLong(at + (long) word * Long.BYTES, header[word]);
        }
    }

    private static long word(long at, int word) {
        return Memory.getLong(at + (long) word * Long.BYTES);
    }

    /** The area in the header there. */
    public static Area area(long at) {
        return Area.of((int) (word(at, MAGIC_AND_AREA) >> 32));
    }

    /** How many bytes follow the header there. */
    public static int length(long at) {
        return (int) word(at, LENGTH);
    }

    /** Where in the area the bytes belong that follow the header there. */
    public static long offset(long at) {
        return word(at, OFFSET);
    }

    /** Where in the base area the flag belongs that the header there brings, -1 for no flag. */
    public static long flagOffset(long at) {
        return word(at, FLAG_OFFSET);
    }

    /**
     * Checks a header that came from outside against the areas of a communicator of this size.
     *
     * @throws NcclException REMOTE_ERROR if anything in it is impossible
     */
    public static void validate(long at, int nRanks, int peer) {
        long first = word(at, MAGIC_AND_AREA);
        if ((int) first != MAGIC || first < 0 || first >> 32 >= Area.total()) {
            throw invalid(peer, "a header that is not JCCL's");
        }
        long size = area(at).sizeBytes(nRanks);
        int length = length(at);
        long offset = offset(at);
        if (length < 0 || length > MAX_PAYLOAD || offset < 0 || offset > size - length) {
            throw invalid(peer, "a payload outside its area");
        }
        long flag = flagOffset(at);
        boolean flagInside =
                flag >= RegionLayout.STATUS
                        && flag <= Area.BASE.sizeBytes(nRanks) - 8
                        && (flag & 7) == 0;
        if (flag != -1 && !flagInside) {
            throw invalid(peer, "a flag outside its area");
        }
    }

    /**
     * Does what the header says of a frame whose payload is in its place: records the call, then
     * stores the flag.
     *
     * @param base of the sender's mirror
     */
    public static void complete(long at, long base, int nRanks) {
        long number = word(at, CALL_NUMBER);
        long flag = flagOffset(at);
        if (number != 0) {
            long description = word(at, CALL_DESCRIPTION);
            long count = word(at, CALL_COUNT);
            long word = CallRecord.word(number, CallRecord.hash(description, count));
            CallRecord.write(base, number, description, count);
            Memory.putLongRelease(base + RegionLayout.callWord(nRanks, number), word);
            if (RegionLayout.isFlag(flag)) {
                Memory.putLong(base + flag + RegionLayout.FLAG_WORD, word);
            }
        }
        if (flag >= 0) {
            Memory.putLongRelease(base + flag, word(at, FLAG_VALUE));
        }
    }

    private static NcclException invalid(int peer, String what) {
        return ErrorKind.NONSENSE.says("rank %s sent %s; connection closed", peer, what);
    }
}
