package org.jccl.transport;

import org.jccl.platform.Memory;
import org.jccl.platform.SharedMemory;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.nio.charset.StandardCharsets;

/**
 * One rank's region as this rank sees it: its own, a node mate's mapping, or a mirror of a rank on
 * another node. The areas behind the base are allocated or mapped on first need.
 *
 * <p>Used by the owner of the communicator only (see CommExecutor), except {@link #address}, which
 * is constant after {@link #map} returned true.
 */
public final class Region implements AutoCloseable {
    private static final int TAIL_BYTES = 64;

    private enum Kind {
        OWN,
        MATE,
        MIRROR
    }

    private final Kind kind;
    private final int rank;
    private final int nRanks;
    private final int pid;
    private final long nonce0;
    private final long nonce1;
    private final @Nullable SharedMemory[] memory = new SharedMemory[Area.total()];
    private final long[] addresses = new long[Area.total()];

    private Region(Kind kind, int rank, int nRanks, int pid, long nonce0, long nonce1) {
        this.kind = kind;
        this.rank = rank;
        this.nRanks = nRanks;
        this.pid = pid;
        this.nonce0 = nonce0;
        this.nonce1 = nonce1;
    }

    /**
     * Allocates this rank's region.
     *
     * @throws NcclException SYSTEM_ERROR if there is no memory for it
     */
    public static Region create(int nRanks, int rank, long nonce0, long nonce1) {
        Region region = new Region(Kind.OWN, rank, nRanks, 0, nonce0, nonce1);
        SharedMemory base = SharedMemory.create(Area.BASE.sizeBytes(nRanks) + TAIL_BYTES);
        region.keep(Area.BASE, base);
        long at = base.address();
        Memory.putInt(at + RegionLayout.VERSION_OFFSET, RegionLayout.WIRE_VERSION);
        Memory.putInt(at + RegionLayout.RANK_OFFSET, rank);
        Memory.putInt(at + RegionLayout.RANKS_OFFSET, nRanks);
        Memory.putLong(at + RegionLayout.SIZE_OFFSET, base.sizeBytes());
        region.writeNonce(at + RegionLayout.NONCE_OFFSET);
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
        long size = Area.BASE.sizeBytes(nRanks) + TAIL_BYTES;
        SharedMemory base = SharedMemory.open(pid, descriptor, size);
        Region region = new Region(Kind.MATE, rank, nRanks, pid, nonce0, nonce1);
        long at = base.address();
        boolean right =
                Memory.getLongAcquire(at + RegionLayout.MAGIC_OFFSET) == RegionLayout.MAGIC
                        && Memory.getInt(at + RegionLayout.VERSION_OFFSET)
                                == RegionLayout.WIRE_VERSION
                        && Memory.getInt(at + RegionLayout.RANK_OFFSET) == rank
                        && Memory.getInt(at + RegionLayout.RANKS_OFFSET) == nRanks
                        && Memory.getLong(at + RegionLayout.NONCE_OFFSET) == nonce0
                        && Memory.getLong(at + RegionLayout.NONCE_OFFSET + 8) == nonce1;
        if (!right) {
            base.close();
            throw NcclException.systemError(
                    "descriptor "
                            + descriptor
                            + " of process "
                            + pid
                            + " is not the shared memory of rank "
                            + rank
                            + " (another process or pid namespace?)");
        }
        region.keep(Area.BASE, base);
        return region;
    }

    /** Allocates the mirror of a rank on another node. */
    public static Region mirror(int nRanks, int rank) {
        Region region = new Region(Kind.MIRROR, rank, nRanks, 0, 0, 0);
        region.keep(Area.BASE, SharedMemory.anonymous(Area.BASE.sizeBytes(nRanks)));
        return region;
    }

    /** The descriptor that node mates open; -1 if there is none. */
    public int descriptor() {
        SharedMemory base = memory[0];
        return kind == Kind.OWN && base != null ? base.fd() : -1;
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
     * Makes the area usable: allocates and publishes one's own or a mirror's, maps a mate's once it
     * is published.
     *
     * @return false while the mate has not published it
     * @throws NcclException SYSTEM_ERROR if the system refuses memory or mapping
     */
    public boolean map(Area area) {
        if (addresses[area.number()] != 0) {
            return true;
        }
        long size = area.sizeBytes(nRanks);
        switch (kind) {
            case OWN -> publish(area, SharedMemory.create(size + TAIL_BYTES), size);
            case MIRROR -> keep(area, SharedMemory.anonymous(size));
            case MATE -> {
                long at = base() + area.publicationOffset();
                long published = Memory.getLongAcquire(at);
                if (published == 0) {
                    return false;
                }
                if (published != size) {
                    throw NcclException.remoteError(
                            "rank "
                                    + rank
                                    + " published "
                                    + published
                                    + " bytes for its "
                                    + area
                                    + " area instead of "
                                    + size);
                }
                SharedMemory opened =
                        SharedMemory.open(pid, Memory.getInt(at + 8), size + TAIL_BYTES);
                if (Memory.getLong(opened.address() + size) != nonce0
                        || Memory.getLong(opened.address() + size + 8) != nonce1) {
                    opened.close();
                    throw NcclException.remoteError(
                            "the "
                                    + area
                                    + " area that rank "
                                    + rank
                                    + " published is not its own");
                }
                keep(area, opened);
            }
        }
        return true;
    }

    private void publish(Area area, SharedMemory created, long size) {
        keep(area, created);
        writeNonce(created.address() + size);
        long at = base() + area.publicationOffset();
        Memory.putInt(at + 8, created.fd());
        Memory.putLongRelease(at, size);
    }

    /** Whether areas behind the base have been published. */
    boolean offersAreas() {
        boolean any = false;
        for (int i = 1; i < addresses.length; i++) {
            any |= addresses[i] != 0;
        }
        return any;
    }

    /** Publishes why this rank gave up: a result code, the guilty rank (or -1) and a sentence. */
    public void publishStatus(int code, int culprit, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        int length = Math.min(bytes.length, RegionLayout.STATUS_TEXT_BYTES);
        long at = base() + RegionLayout.STATUS_TEXT;
        for (int i = 0; i < length; i++) {
            Memory.putByte(at + 4 + i, bytes[i]);
        }
        Memory.putInt(at, length);
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

    /** The sentence of a status that is not 0; its length is checked, its content is not. */
    public String statusText() {
        long at = base() + RegionLayout.STATUS_TEXT;
        int length = Memory.getInt(at);
        if (length < 0 || length > RegionLayout.STATUS_TEXT_BYTES) {
            return "(unreadable status text)";
        }
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = Memory.getByte(at + 4 + i);
        }
        return new String(bytes, StandardCharsets.UTF_8);
    }

    @Override
    public void close() {
        for (int i = memory.length - 1; i >= 0; i--) {
            SharedMemory part = memory[i];
            memory[i] = null;
            addresses[i] = 0;
            if (part != null) {
                part.close();
            }
        }
    }

    private void keep(Area area, SharedMemory part) {
        memory[area.number()] = part;
        addresses[area.number()] = part.address();
    }

    private void writeNonce(long at) {
        Memory.putLong(at, nonce0);
        Memory.putLong(at + 8, nonce1);
    }
}
