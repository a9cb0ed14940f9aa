package org.jccl.transport.net;

import org.jccl.platform.Memory;
import org.jccl.transport.Area;
import org.jccl.transport.CallRecord;
import org.jccl.transport.RegionLayout;
import org.jccl.type.NcclException;
import org.jccl.type.PeerError;

/**
 * The header of a frame: 64 bytes in the sender's byte order (ranks agree on it at init).
 *
 * <p>A frame says: put these bytes at this offset of that area of my mirror; then, if a call number
 * is given, record that I make this call; then, if a flag offset is given, store the flag.
 */
final class Frame {
    static final int HEADER_BYTES = 64;

    /** Largest payload; longer data travels in several frames. */
    static final int MAX_PAYLOAD = 256 << 10;

    private static final int MAGIC = 0x4a434652;
    private static final int AREA = 4;
    private static final int LENGTH = 8;
    private static final int OFFSET = 16;
    private static final int FLAG_OFFSET = 24;
    private static final int FLAG_VALUE = 32;
    private static final int CALL_NUMBER = 40;
    private static final int CALL_DESCRIPTION = 48;
    private static final int CALL_COUNT = 56;

    private Frame() {}

    static void writeTarget(long at, Area area, long offset, int length) {
        Memory.putInt(at, MAGIC);
        Memory.putInt(at + AREA, area.number());
        Memory.putInt(at + LENGTH, length);
        Memory.putInt(at + LENGTH + 4, 0);
        Memory.putLong(at + OFFSET, offset);
    }

    static void writeFlag(long at, long flagOffset, long flagValue) {
        Memory.putLong(at + FLAG_OFFSET, flagOffset);
        Memory.putLong(at + FLAG_VALUE, flagValue);
    }

    static void writeCall(long at, long number, long description, long count) {
        Memory.putLong(at + CALL_NUMBER, number);
        Memory.putLong(at + CALL_DESCRIPTION, description);
        Memory.putLong(at + CALL_COUNT, count);
    }

    static Area area(long at) {
        return Area.of(Memory.getInt(at + AREA));
    }

    static int length(long at) {
        return Memory.getInt(at + LENGTH);
    }

    static long offset(long at) {
        return Memory.getLong(at + OFFSET);
    }

    static long flagOffset(long at) {
        return Memory.getLong(at + FLAG_OFFSET);
    }

    /**
     * Checks a header that came from outside against the areas of a communicator of this size.
     *
     * @throws NcclException REMOTE_ERROR if anything in it is impossible
     */
    static void validate(long at, int nRanks, int peer) {
        int areaNumber = Memory.getInt(at + AREA);
        if (Memory.getInt(at) != MAGIC || areaNumber < 0 || areaNumber >= Area.total()) {
            throw invalid(peer, "a header that is not JCCL's");
        }
        long size = Area.of(areaNumber).sizeBytes(nRanks);
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
    static void complete(long at, long base, int nRanks) {
        long number = Memory.getLong(at + CALL_NUMBER);
        long flag = flagOffset(at);
        if (number != 0) {
            long description = Memory.getLong(at + CALL_DESCRIPTION);
            long count = Memory.getLong(at + CALL_COUNT);
            long word = CallRecord.word(number, CallRecord.hash(description, count));
            CallRecord.write(base, number, description, count);
            Memory.putLongRelease(base + RegionLayout.callWord(nRanks, number), word);
            if (RegionLayout.isFlag(flag)) {
                Memory.putLong(base + flag + RegionLayout.FLAG_WORD, word);
            }
        }
        if (flag >= 0) {
            Memory.putLongRelease(base + flag, Memory.getLong(at + FLAG_VALUE));
        }
    }

    private static NcclException invalid(int peer, String what) {
        return PeerError.NONSENSE.says("rank %s sent %s; connection closed", peer, what);
    }
}
