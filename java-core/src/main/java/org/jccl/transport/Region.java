package org.jccl.transport;

import org.jccl.platform.Memory;
import org.jccl.platform.SharedMemory;
import org.jccl.type.InitError;
import org.jccl.type.NcclException;
import org.jccl.type.PeerError;
import org.jccl.type.Utf8;

import java.util.Arrays;

/**
 * One rank's region as this rank sees it: its own, a node mate's mapping, or a mirror of a rank on
 * another node. It is mapped whole at init, so that what a rank has left behind can be read after
 * that rank has gone; the areas behind the base are allocated on first need.
 *
 * <p>Used by the owner of the communicator only (see CommExecutor), except {@link #address}, which
 * is constant after {@link #map} returned true.
 */
public final class Region implements AutoCloseable {
    /** In place of a result code in the status of a rank that has left in good order. */
    public static final int LEFT = 100;

    private static final int PAGE = 4096;

    private enum Kind {
        OWN,
        MATE,
        MIRROR
    }

    private final Kind kind;
    private final int rank;
    private final int nRanks;
    private final SharedMemory memory;
    private final long[] addresses = new long[Area.total()];

    private Region(Kind kind, int rank, int nRanks, SharedMemory memory) {
        this.kind = kind;
        this.rank = rank;
        this.nRanks = nRanks;
        this.memory = memory;
        addresses[0] = memory.address();
    }

    private static long offset(Area area, int nRanks) {
        long base = Area.BASE.sizeBytes(nRanks);
        long ring = (base + PAGE - 1) / PAGE * PAGE;
        return switch (area) {
            case BASE -> 0;
            case RING -> ring;
            case FIFO -> ring + Area.RING.sizeBytes(nRanks);
            case EXCHANGE -> offset(Area.FIFO, nRanks) + Area.FIFO.sizeBytes(nRanks);
        };
    }

    private static long totalBytes(int nRanks) {
        return offset(Area.EXCHANGE, nRanks) + Area.EXCHANGE.sizeBytes(nRanks);
    }

    /**
     * Allocates this rank's region.
     *
     * @throws NcclException SYSTEM_ERROR if there is no memory for it
     */
    public static Region create(int nRanks, int rank, long nonce0, long nonce1) {
        long size = totalBytes(nRanks);
        SharedMemory memory = SharedMemory.create(size, Area.BASE.sizeBytes(nRanks));
        Region region = new Region(Kind.OWN, rank, nRanks, memory);
        long at = memory.address();
        Memory.putInt(at + RegionLayout.VERSION_OFFSET, RegionLayout.WIRE_VERSION);
        Memory.putInt(at + RegionLayout.RANK_OFFSET, rank);
        Memory.putInt(at + RegionLayout.RANKS_OFFSET, nRanks);
        Memory.putLong(at + RegionLayout.SIZE_OFFSET, size);
        Memory.putLong(at + RegionLayout.NONCE_OFFSET, nonce0);
        Memory.putLong(at + RegionLayout.NONCE_OFFSET + 8, nonce1);
        Memory.putLongRelease(at + RegionLayout.MAGIC_OFFSET, RegionLayout.MAGIC);
        return region;
    }

    /**
     * Maps a node mate's region through {@code /proc/<pid>/fd/<descriptor>} and proves by its nonce
     * that it is the right one.
     *
     * @throws NcclException SYSTEM_ERROR if the system refuses it or the proof fails
     */
    public static Region open(
            int nRanks, int rank, int pid, int descriptor, long nonce0, long nonce1) {
        SharedMemory memory = SharedMemory.open(pid, descriptor, totalBytes(nRanks));
        long at = memory.address();
        boolean right =
                Memory.getLongAcquire(at + RegionLayout.MAGIC_OFFSET) == RegionLayout.MAGIC
                        && Memory.getInt(at + RegionLayout.VERSION_OFFSET)
                                == RegionLayout.WIRE_VERSION
                        && Memory.getInt(at + RegionLayout.RANK_OFFSET) == rank
                        && Memory.getInt(at + RegionLayout.RANKS_OFFSET) == nRanks
                        && Memory.getLong(at + RegionLayout.NONCE_OFFSET) == nonce0
                        && Memory.getLong(at + RegionLayout.NONCE_OFFSET + 8) == nonce1;
        if (!right) {
            memory.close();
            throw InitError.SHARED_MEMORY_FOREIGN.says(
                    "descriptor %s of process %s is not the shared memory of rank %s "
                            + "(another process or pid namespace?)",
                    descriptor, pid, rank);
        }
        return new Region(Kind.MATE, rank, nRanks, memory);
    }

    /** Makes the mirror of a rank on another node; the system allocates its pages one by one. */
    public static Region mirror(int nRanks, int rank) {
        SharedMemory memory = SharedMemory.anonymous(totalBytes(nRanks));
        return new Region(Kind.MIRROR, rank, nRanks, memory);
    }

    /** The descriptor that node mates open; -1 if there is none. */
    public int descriptor() {
        return kind == Kind.OWN ? memory.fd() : -1;
    }

    /** The rank whose region it is. */
    public int rank() {
        return rank;
    }

    /** The area's address, 0 while it is not mapped. */
    public long address(Area area) {
        return addresses[area.number()];
    }

    /** The base area's address. */
    public long base() {
        return addresses[0];
    }

    /**
     * Makes the area usable: allocates and publishes one's own, looks whether a mate has published
     * its.
     *
     * @return false while the mate has not published it
     * @throws NcclException SYSTEM_ERROR if the system refuses memory
     */
    public boolean map(Area area) {
        if (addresses[area.number()] != 0) {
            return true;
        }
        long size = area.sizeBytes(nRanks);
        if (kind == Kind.OWN) {
            memory.allocate(offset(area, nRanks), size);
            Memory.putLongRelease(base() + area.publicationOffset(), size);
        } else if (kind == Kind.MATE) {
            long published = Memory.getLongAcquire(base() + area.publicationOffset());
            if (published == 0) {
                return false;
            }
            if (published != size) {
                throw PeerError.NONSENSE.says(
                        "rank %s published %s bytes for its %s area instead of %s",
                        rank, published, area, size);
            }
        }
        addresses[area.number()] = memory.address() + offset(area, nRanks);
        return true;
    }

    /** Whether {@link #map} finds the area, or makes it. */
    public boolean hasArea(Area area) {
        return kind != Kind.MATE || Memory.getLongAcquire(base() + area.publicationOffset()) != 0;
    }

    /** Publishes why this rank gave up: a result code, the guilty rank (or -1) and a sentence. */
    public void publishStatus(int code, int culprit, String text) {
        byte[] bytes = Utf8.encode(text, RegionLayout.STATUS_TEXT_BYTES);
        long at = base() + RegionLayout.STATUS_TEXT;
        Memory.copyIn(bytes, 0, at + 4, bytes.length);
        Memory.putInt(at, bytes.length);
        Memory.putLongRelease(base() + RegionLayout.STATUS, statusWord(code, culprit));
    }

    /** The word for a status. */
    public static long statusWord(int code, int culprit) {
        return (long) code << 32 | Integer.toUnsignedLong(culprit + 1);
    }

    /** The status word; 0 while the rank is well. */
    public long status() {
        return Memory.getLongAcquire(base() + RegionLayout.STATUS);
    }

    /** Whether the rank has left in good order. */
    public boolean hasLeft() {
        return (int) (status() >>> 32) == LEFT;
    }

    /** The sentence of a status that is not 0: whatever it is, it fits into a line of a log. */
    public String statusText() {
        long at = base() + RegionLayout.STATUS_TEXT;
        int length = Memory.getInt(at);
        if (length < 0 || length > RegionLayout.STATUS_TEXT_BYTES) {
            return "(unreadable status text)";
        }
        byte[] bytes = new byte[length];
        Memory.copyOut(at + 4, bytes, 0, length);
        return Utf8.decode(bytes);
    }

    @Override
    public void close() {
        Arrays.fill(addresses, 0);
        memory.close();
    }
}
