package org.jccl.transport;

import org.jccl.schedule.Limits;

/**
 * Where everything lies in a rank's region. A region is written by its owner alone (except the
 * waiters word, which sleepers set) and read by every other rank of the communicator, either
 * through a shared mapping or in a local mirror that TCP frames fill.
 *
 * <p>All offsets are bytes from the start of the area. Words that different ranks poll lie on
 * separate pairs of cache lines.
 */
public final class RegionLayout {
    /** Version of all these sizes and places, and of frames between mirrors; ranks must agree. */
    public static final int WIRE_VERSION = 8;

    /** Bytes of the random number by which mates recognise a region. */
    public static final int NONCE_BYTES = 16;

    /**
     * A region begins with whose it is: version, rank and ranks (int), nonce; written before its
     * rank tells the others of it.
     */
    static final int IDENTITY_BYTES = 3 * Integer.BYTES + NONCE_BYTES;

    /** Long: 0 while the rank is well, else {@code code << 32 | culprit + 1}. */
    public static final long STATUS = 128;

    /** Int length and UTF-8 text that explains the status; written before the status word. */
    public static final long STATUS_TEXT = 136;

    /** Longest status text in bytes. */
    public static final int STATUS_TEXT_BYTES = 480;

    /** Int: 1 while somebody sleeps until this region changes. */
    public static final long WAITERS = 768;

    /** Long: 1 once the ring area is allocated (release), 0 before. */
    static final long RING_IS_THERE = 1024;

    /** Records of the last calls. */
    static final long RECORDS = 1280;

    static final int RECORD_BYTES = 32;
    static final int RECORD_COUNT = 16;

    private static final long FLAGS = 2048;
    private static final int FLAG_STRIDE = 128;

    /** Flag words that schedules may use. */
    public static final int FLAG_COUNT = 8;

    /**
     * From a flag to the word of the call in which it was stored last. Both lie in one cache line:
     * a rank that reads the flag gets the word with it.
     */
    public static final int FLAG_WORD = 8;

    private static final long FIFO_WORDS = 4096;
    private static final int FIFO_WORD_STRIDE = 128;

    /** Largest message that travels with its call word, under no flag. */
    public static final int TINY_BYTES = 2048;

    /** A cache line. */
    public static final int LINE_BYTES = 64;

    /** Largest tiny message that fits the call word's cache line. */
    public static final int LINE_PAYLOAD = 56;

    /**
     * Call words use these lines in turn. Two would do, but how long a line takes from core to core
     * depends on where in the machine its address belongs, and with two some communicators are
     * slower than others by a third for all their life.
     */
    public static final int WORD_LINES = 8;

    /** Each of these lines has a pair of cache lines to itself. */
    private static final int WORD_STRIDE = 2 * LINE_BYTES;

    /** A small slot. */
    public static final int SMALL_BYTES = 16 << 10;

    /** A direct slot, in the ring area. */
    public static final int DIRECT_BYTES = 256 << 10;

    /** A slot of the ring on one node, where a chunk of each rank is to stay in the caches. */
    private static final int RING_SLOT_BYTES = 256 << 10;

    /**
     * The same on several nodes: a frame has what one rank has of a chunk for another, and costs
     * more than the copies of its bytes if these are few.
     */
    private static final int WIDE_RING_SLOT_BYTES = 1 << 20;

    /** Slots of the ring. */
    public static final int RING_SLOTS = 4;

    /** Offset of the ring in the ring area, behind the two direct slots. */
    public static final long RING = 2L * DIRECT_BYTES;

    /** Size of the ring area; on one node the first slots of it are used. */
    public static final long RING_AREA_BYTES = RING + (long) RING_SLOTS * WIDE_RING_SLOT_BYTES;

    /** Chunks in flight from one rank to another in send/recv. */
    public static final int FIFO_SLOTS = 4;

    /** Size of a FIFO slot with its header. */
    public static final int FIFO_SLOT_BYTES = 32 << 10;

    /** Payload of a FIFO slot. Its header: long count, int type, int unused, long call number. */
    public static final int FIFO_PAYLOAD = FIFO_SLOT_BYTES - Limits.HEADER_BYTES;

    private static final Limits ON_ONE_NODE = withSlotsOf(RING_SLOT_BYTES);
    private static final Limits ON_SEVERAL_NODES = withSlotsOf(WIDE_RING_SLOT_BYTES);

    private static final int PAGE = 4096;

    private RegionLayout() {}

    private static Limits withSlotsOf(int ringSlotBytes) {
        return new Limits(
                TINY_BYTES,
                SMALL_BYTES,
                DIRECT_BYTES,
                ringSlotBytes,
                RING_SLOTS,
                FIFO_PAYLOAD,
                FIFO_SLOTS);
    }

    /** What a schedule may use of a region, for ranks on so many nodes. */
    public static Limits limits(int nodes) {
        return nodes == 1 ? ON_ONE_NODE : ON_SEVERAL_NODES;
    }

    /** How much of the ring area schedules with these limits use. */
    public static long ringAreaBytes(Limits limits) {
        return RING + (long) limits.ringSlots() * limits.ringSlotBytes();
    }

    /** Offset of a flag word. */
    public static long flag(int flag) {
        return FLAGS + (long) flag * FLAG_STRIDE;
    }

    /** Whether a flag word has this offset. */
    public static boolean isFlag(long offset) {
        long at = offset - FLAGS;
        return at >= 0 && at < FLAG_COUNT * FLAG_STRIDE && at % FLAG_STRIDE == 0;
    }

    /**
     * Offset of a flag word that concerns {@code peer} alone.
     *
     * @param area FIFO or EXCHANGE, whose words share cache lines
     * @param flag 0 for the head, which counts the chunks that the owner has put for {@code peer},
     *     1 for the tail, which counts those that it has taken from {@code peer}
     */
    public static long fifoFlag(Area area, int peer, int flag) {
        long place = area == Area.EXCHANGE ? 8 : 0;
        return FIFO_WORDS + (long) peer * FIFO_WORD_STRIDE + (long) flag * LINE_BYTES + place;
    }

    /** Offset of the slot of this parity for tiny messages that do not fit the word's line. */
    public static long tiny(int nRanks, int parity) {
        return wordLine(nRanks, WORD_LINES) + (long) parity * TINY_BYTES;
    }

    /** Offset of the word of a call, behind a tiny message that fits its line. */
    public static long callWord(int nRanks, long call) {
        return wordLine(nRanks, call & (WORD_LINES - 1)) + LINE_PAYLOAD;
    }

    private static long wordLine(int nRanks, long line) {
        return pages(FIFO_WORDS + (long) nRanks * FIFO_WORD_STRIDE) + line * WORD_STRIDE;
    }

    /** Offset of the small slot of this parity. */
    public static long small(int nRanks, int parity) {
        return smallBase(nRanks) + (long) parity * SMALL_BYTES;
    }

    /** Size of the base area, in whole pages. */
    public static long baseBytes(int nRanks) {
        return smallBase(nRanks) + 2L * SMALL_BYTES;
    }

    /** Offset of the direct slot of this parity in the ring area. */
    public static long direct(int parity) {
        return (long) parity * DIRECT_BYTES;
    }

    /** Size of the slots for one peer in a FIFO area. */
    public static final long FIFO_BYTES_PER_PEER = (long) FIFO_SLOTS * FIFO_SLOT_BYTES;

    /** Offset of the slot for {@code chunk} on its way to {@code peer} in a FIFO area. */
    public static long fifoSlot(int peer, long chunk) {
        return ((long) peer * FIFO_SLOTS + (chunk & (FIFO_SLOTS - 1))) * FIFO_SLOT_BYTES;
    }

    /** Size of a FIFO area. */
    public static long fifoAreaBytes(int nRanks) {
        return nRanks * FIFO_BYTES_PER_PEER;
    }

    private static long smallBase(int nRanks) {
        return pages(wordLine(nRanks, WORD_LINES) + 2L * TINY_BYTES);
    }

    private static long pages(long end) {
        return (end + PAGE - 1) & -PAGE;
    }
}
