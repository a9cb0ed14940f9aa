package org.jccl.cuda;

import org.jccl.log.Log;
import org.jccl.type.ErrorKind;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Memory of a device into which other ranks write while a communicator exists. Nobody tells when a
 * kernel of another rank has written for the last time; so each rank, at its end, writes a word of
 * farewell into the memory of all others, after everything that its kernels have written. Memory
 * with all farewells is used again; what a rank never took leave of, since it failed or died, is
 * kept for as long as the process lives.
 */
final class SlotMemory {
    /** As in {@code exchange.cu}: what stands before the slots. */
    static final int HEADER_BYTES =
            256
                    + 8 * LaunchArguments.MOST_RANKS * Kernels.MOST_BLOCKS
                    + 128
                    + 16 * Kernels.MOST_BLOCKS;

    static final int LINE_BYTES = 128;

    /** All slots of a rank: two sets of one for each rank. */
    static final int SLOT_BYTES = 16 << 20;

    /** As in {@code transfers.cu}: its words, its rings of chunks, and those of pieces. */
    private static final int TRANSFER_BYTES =
            4 * 16 * 512 + 128 * 3 * LaunchArguments.MOST_RANKS + (8 << 20) + (49 << 20);

    /** Where the memory for sends and receives begins. */
    static final int TRANSFERS = HEADER_BYTES + SLOT_BYTES;

    /** Where that for collectives of large parts begins. */
    static final int PIECES = TRANSFERS + TRANSFER_BYTES;

    /** As in {@code pieces.cu}: its words, and its rings. */
    private static final int PIECES_BYTES =
            3 * 16 * Kernels.MOST_LANES * LaunchArguments.MOST_RANKS + 128 + (51 << 20);

    private static final int BYTES = PIECES + PIECES_BYTES;

    /** Where farewells are, one word of 4 bytes for each rank. */
    private static final int FAREWELL = 192;

    private static final int ID_BYTES = 16;
    private static final int DESCRIPTION_BYTES = 2 * ID_BYTES + 8 + Native.HANDLE_BYTES;
    private static final SecureRandom RANDOM = new SecureRandom();

    /** By device, memory that may be used again. Each list is guarded by itself. */
    private static final Map<CudaDevice, List<SlotMemory>> LEFT = new ConcurrentHashMap<>();

    /** How many there are. */
    private static final AtomicInteger MADE = new AtomicInteger();

    /**
     * By its id and the number of the own device: memory of other processes, which is never let go
     * of, since its owner never frees it. Guarded by itself.
     */
    private static final Map<String, Long> OPENED = new HashMap<>();

    private final CudaDevice device;
    private final long address;
    private final byte[] id = new byte[ID_BYTES];

    /** How often it has been used; what a farewell is to be. */
    private int use;

    private int nRanks;
    private int rank;

    /** Whether no other rank has written to it in the present use. */
    private boolean unused;

    private SlotMemory(CudaDevice device) {
        this.device = device;
        this.address = device.allocate(BYTES);
        MADE.incrementAndGet();
        RANDOM.nextBytes(id);
    }

    /** Zeroed memory for a rank of a communicator. */
    static SlotMemory take(CudaDevice device, int rank, int nRanks) {
        SlotMemory memory = null;
        List<SlotMemory> left = left(device);
        synchronized (left) {
            for (SlotMemory each : left) {
                if (memory == null && each.everybodyHasLeft()) {
                    memory = each;
                }
            }
            if (memory != null) {
                left.remove(memory);
            }
        }
        if (memory == null) {
            memory = new SlotMemory(device);
        }
        memory.use++;
        memory.unused = false;
        memory.rank = rank;
        memory.nRanks = nRanks;
        try {
            device.clear(memory.address, BYTES);
        } catch (RuntimeException | Error refused) {
            memory.giveBackUnused();
            throw refused;
        }
        return memory;
    }

    private static List<SlotMemory> left(CudaDevice device) {
        return LEFT.computeIfAbsent(device, any -> new ArrayList<>());
    }

    /** How many this process has made. */
    static int made() {
        return MADE.get();
    }

    private boolean everybodyHasLeft() {
        if (unused) {
            return true;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment words = arena.allocate(4L * nRanks, Integer.BYTES);
            device.read(words, address + FAREWELL);
            for (int q = 0; q < nRanks; q++) {
                if (q != rank && words.getAtIndex(ValueLayout.JAVA_INT, q) != use) {
                    return false;
                }
            }
            return true;
        }
    }

    /** How many lines a slot has where so many ranks share them. */
    static int slotLines(int nRanks) {
        return SLOT_BYTES / (2 * nRanks) / LINE_BYTES;
    }

    long address() {
        return address;
    }

    /** Which device it is of, which memory, where, in which use, and how to open it elsewhere. */
    byte[] description() {
        ByteBuffer out = ByteBuffer.allocate(DESCRIPTION_BYTES + Integer.BYTES);
        out.put(device.uuid()).put(id).putLong(address).put(device.handle(address));
        return out.putInt(use).array();
    }

    /** The memory of another rank. */
    record Reached(long address, int use) {}

    /**
     * Reaches the memory of another rank.
     *
     * @param here whether it is of this process
     * @throws org.jccl.type.NcclException DEVICE_FAILED if that is not possible
     */
    Reached reach(byte[] description, boolean here) {
        if (description.length != DESCRIPTION_BYTES + Integer.BYTES) {
            throw ErrorKind.NONSENSE.says(
                    "a rank described its device's memory in %s bytes", description.length);
        }
        ByteBuffer in = ByteBuffer.wrap(description);
        byte[] uuid = new byte[ID_BYTES];
        byte[] theirId = new byte[ID_BYTES];
        byte[] handle = new byte[Native.HANDLE_BYTES];
        in.get(uuid).get(theirId);
        long there = in.getLong();
        in.get(handle);
        if (ByteBuffer.wrap(uuid).equals(ByteBuffer.wrap(device.uuid()))) {
            throw ErrorKind.DEVICE_FAILED.says(
                    "two ranks use %s, and kernels need a GPU for each", device.name());
        }
        NvLink.require(device, uuid);
        return new Reached(here ? device.peer(uuid, there) : open(theirId, handle), in.getInt());
    }

    private long open(byte[] theirId, byte[] handle) {
        String key = device.ordinal() + " " + HexFormat.of().formatHex(theirId);
        synchronized (OPENED) {
            Long known = OPENED.get(key);
            if (known == null) {
                known = device.openHandle(handle);
                OPENED.put(key, known);
            }
            return known;
        }
    }

    /**
     * Tells the owners of other memory that this rank's kernels will not write there any more, and
     * gives this memory back.
     */
    void leave(@Nullable Reached... others) {
        for (Reached other : others) {
            if (other != null) {
                try {
                    device.set(other.address + FAREWELL + 4L * rank, other.use);
                } catch (RuntimeException refused) {
                    // Its owner does not use it again.
                    Log.survived("another rank keeps memory of its GPU: ", refused);
                }
            }
        }
        giveBack();
    }

    /** The same for memory of which nobody has to take leave. */
    void giveBackUnused() {
        unused = true;
        giveBack();
    }

    /** Lets a later communicator have it. */
    private void giveBack() {
        List<SlotMemory> left = left(device);
        synchronized (left) {
            left.add(this);
        }
    }
}
