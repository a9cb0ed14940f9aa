package org.jccl.transport;

import org.jccl.platform.Memory;
import org.jccl.platform.ProcessMemory;
import org.jccl.platform.Shared;
import org.jccl.platform.SharedMemory;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.Utf8;

import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Objects;
import java.util.function.Supplier;

/**
 * One rank's region as this rank sees it: its own, a node mate's, or a mirror of a rank on another
 * node. It is mapped whole at init, so that what a rank has left behind can be read after that rank
 * has gone; the areas behind the base are allocated on first need.
 *
 * <p>Used by the owner of the communicator only (see CommExecutor).
 */
public final class Region implements AutoCloseable {
    /** In place of a result code in the status of a rank that has left in good order. */
    public static final int LEFT = 100;

    /**
     * By nonce, the memory of regions in this process: mapped once for all ranks that use it. So n
     * ranks that are threads of one process have n mappings instead of n times n; the system allows
     * a process some 65,000. A mirror has a key of its own.
     */
    private static final Shared<Object, SharedMemory> MAPPED = new Shared<>(SharedMemory::close);

    private enum Kind {
        OWN,
        MATE,
        MIRROR
    }

    private final Kind kind;
    private final int rank;
    private final int nRanks;
    private final Object key;
    private final SharedMemory memory;
    private final long base;
    private boolean ringIsThere;
    private boolean closed;

    /** The region with this key; {@code map} maps its memory if nobody here has. */
    private Region(Kind kind, int nRanks, int rank, Object key, Supplier<SharedMemory> map) {
        this.kind = kind;
        this.rank = rank;
        this.nRanks = nRanks;
        this.key = key;
        this.memory = Objects.requireNonNull(MAPPED.use(key, _ -> map.get()));
        this.base = memory.address();
    }

    private static long totalBytes(int nRanks) {
        return Area.EXCHANGE.offset(nRanks) + Area.EXCHANGE.sizeBytes(nRanks);
    }

    private static byte[] identity(int nRanks, int rank, byte[] nonce) {
        ByteBuffer identity = ByteBuffer.allocate(RegionLayout.IDENTITY_BYTES);
        identity.putInt(RegionLayout.WIRE_VERSION).putInt(rank).putInt(nRanks);
        return identity.put(nonce).array();
    }

    private static byte[] identityAt(long base) {
        byte[] identity = new byte[RegionLayout.IDENTITY_BYTES];
        Memory.copyOut(base, identity, 0, identity.length);
        return identity;
    }

    /**
     * Allocates this rank's region.
     *
     * @param nonce {@link RegionLayout#NONCE_BYTES} random bytes, which nobody changes
     * @throws NcclException SYSTEM_ERROR if there is no memory for it
     */
    public static Region create(int nRanks, int rank, byte[] nonce) {
        SharedMemory memory = SharedMemory.create(totalBytes(nRanks), Area.BASE.sizeBytes(nRanks));
        byte[] identity = identity(nRanks, rank, nonce);
        Memory.copyIn(identity, 0, memory.address(), identity.length);
        return new Region(Kind.OWN, nRanks, rank, ByteBuffer.wrap(nonce), () -> memory);
    }

    /**
     * A node mate's region, which its nonce proves to be the right one: as another rank of this
     * process has mapped it, or else through {@code /proc/<pid>/fd/<descriptor>}.
     *
     * @param descriptor -1 if the mate's system refuses memory that other processes can open
     * @throws NcclException SYSTEM_ERROR if the system refuses it or the proof fails
     */
    public static Region open(int nRanks, int rank, int pid, int descriptor, byte[] nonce) {
        Supplier<SharedMemory> map = () -> openMemory(pid, descriptor, totalBytes(nRanks));
        Region region = new Region(Kind.MATE, nRanks, rank, ByteBuffer.wrap(nonce), map);
        if (!Arrays.equals(identityAt(region.base), identity(nRanks, rank, nonce))) {
            region.close();
            throw ErrorKind.SHARED_MEMORY_FOREIGN.says(
                    "descriptor %s of process %s is not the shared memory of rank %s "
                            + "(another process or pid namespace?)",
                    descriptor, pid, rank);
        }
        return region;
    }

    /**
     * Whether this process can read the memory of process {@code pid}, where the region lies at
     * {@code address}; the nonce there proves it.
     */
    public boolean isReadIn(int pid, long address) {
        long bytes = RegionLayout.IDENTITY_BYTES;
        try (Arena arena = Arena.ofConfined()) {
            long seen = arena.allocate(bytes, 8).address();
            return ProcessMemory.read(pid, address, seen, bytes) == bytes
                    && Arrays.equals(identityAt(seen), identityAt(base));
        }
    }

    private static SharedMemory openMemory(int pid, int descriptor, long sizeBytes) {
        if (descriptor < 0) {
            throw ErrorKind.SHARED_MEMORY_REFUSED.says("its system refuses shared memory");
        }
        return SharedMemory.open(pid, descriptor, sizeBytes);
    }

    /** Makes the mirror of a rank on another node; the system allocates its pages one by one. */
    public static Region mirror(int nRanks, int rank) {
        Supplier<SharedMemory> map = () -> SharedMemory.anonymous(totalBytes(nRanks));
        return new Region(Kind.MIRROR, nRanks, rank, new Object(), map);
    }

    /** The descriptor that node mates open; -1 if there is none. */
    public int descriptor() {
        return kind == Kind.OWN ? memory.fd() : -1;
    }

    /** The rank whose region it is. */
    public int rank() {
        return rank;
    }

    /** The area's address. */
    public long address(Area area) {
        return base + area.offset(nRanks);
    }

    /** The base area's address. */
    public long base() {
        return base;
    }

    /**
     * Makes the ring area usable: allocates the own one and says so, or looks whether the mate has
     * said so. It lies where the layout says, so that nothing else has to be known.
     *
     * @param bytes how much of it is used
     * @return false while the mate's is not there
     * @throws NcclException SYSTEM_ERROR if the system refuses memory
     */
    public boolean mapRing(long bytes) {
        if (ringIsThere) {
            return true;
        }
        if (kind == Kind.OWN) {
            memory.allocate(Area.RING.offset(nRanks), bytes);
            Memory.putLongRelease(base + RegionLayout.RING_IS_THERE, 1);
        }
        ringIsThere = hasRing();
        return ringIsThere;
    }

    /** Whether {@link #mapRing} finds the area, or makes it. */
    public boolean hasRing() {
        return kind != Kind.MATE || Memory.getLongAcquire(base + RegionLayout.RING_IS_THERE) != 0;
    }

    /**
     * Allocates the slots of one's own region for {@code peer}; the head that counts what lies in
     * them tells the peer that they are there.
     *
     * @param area FIFO or EXCHANGE
     * @throws NcclException SYSTEM_ERROR if the system refuses memory
     */
    public void allocateSlots(Area area, int peer) {
        long offset = area.offset(nRanks) + RegionLayout.fifoSlot(peer, 0);
        memory.allocate(offset, RegionLayout.FIFO_BYTES_PER_PEER);
    }

    /** Publishes why this rank gave up: a result code, the guilty rank (or -1) and a sentence. */
    public void publishStatus(int code, int culprit, String text) {
        byte[] bytes = Utf8.encode(text, RegionLayout.STATUS_TEXT_BYTES);
        long at = base() + RegionLayout.STATUS_TEXT;
        Memory.copyIn(bytes, 0, at + 4, bytes.length);
        Memory.putInt(at, bytes.length);
        long word = (long) code << 32 | Integer.toUnsignedLong(culprit + 1);
        Memory.putLongRelease(base() + RegionLayout.STATUS, word);
    }

    /** The status word; 0 while the rank is well. */
    public long status() {
        return Memory.getLongAcquire(base() + RegionLayout.STATUS);
    }

    /** Whether the rank has left in good order. */
    public boolean hasLeft() {
        return (int) (status() >>> 32) == LEFT;
    }

    /** The sentence of a status that is not 0, made fit for a line of a log. */
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
        if (!closed) {
            closed = true;
            MAPPED.leave(key);
        }
    }
}
