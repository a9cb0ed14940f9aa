package org.jccl.executor;

import org.jccl.device.Device;
import org.jccl.log.Log;
import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * The staging blocks of one communicator. Those of ended operations are given back without a lock,
 * by whoever owns the communicator; they are used again, or freed, once their streams have gone on.
 */
final class StagingPool {
    /** Bound on blocks in use and those of ended operations whose streams have not gone on. */
    static final long MAX_STAGED_BYTES = 1L << 32;

    /** Bound on blocks that are kept for later operations. */
    private static final long MAX_FREE_BYTES = 1L << 28;

    private static final long SMALLEST_BLOCK = 4096;
    private static final long LARGE = 1 << 20;

    /** A block that a stream has yet to come to, after the end of its communicator. */
    private record Orphan(Device device, StagingBlock block) {}

    /** Guarded by itself. */
    private static final ArrayList<Orphan> ORPHANS = new ArrayList<>();

    private final Device device;

    /** Blocks of ended operations; any thread adds to it. */
    private final ConcurrentLinkedQueue<StagingBlock> left = new ConcurrentLinkedQueue<>();

    /** Blocks that no stream and no operation uses. Guarded by this, as the two below. */
    private final ArrayDeque<StagingBlock> free = new ArrayDeque<>();

    private long freeBytes;
    private long stagedBytes;

    /** Set once (volatile); from then on blocks that are given back are orphans. */
    private volatile boolean closed;

    StagingPool(Device device) {
        this.device = device;
        freeOrphans();
    }

    /**
     * Takes a block with room for so many bytes and begins its next use.
     *
     * @return null if the bytes do not fit beside what is staged
     */
    synchronized @Nullable StagingBlock take(long bytes) {
        reclaim();
        long size = sizeFor(StagingBlock.HEADER_BYTES + bytes);
        if (bytes < 0 || bytes > MAX_STAGED_BYTES || size > MAX_STAGED_BYTES - stagedBytes) {
            return null;
        }
        StagingBlock found = null;
        for (StagingBlock block : free) {
            boolean fits = block.sizeBytes >= size && block.sizeBytes <= 4 * size;
            if (fits && (found == null || block.sizeBytes < found.sizeBytes)) {
                found = block;
            }
        }
        if (found == null) {
            found = new StagingBlock(device.allocateHost(size), size);
        } else {
            free.remove(found);
            freeBytes -= found.sizeBytes;
        }
        found.next();
        stagedBytes += found.sizeBytes;
        return found;
    }

    /** The bytes that {@link #take} finds in use. */
    synchronized long stagedBytes() {
        return stagedBytes;
    }

    private static long sizeFor(long bytes) {
        return bytes > LARGE
                ? (bytes + LARGE - 1) & -LARGE
                : Math.max(SMALLEST_BLOCK, Long.highestOneBit(bytes - 1) << 1);
    }

    /** Takes back the block of an operation that has ended; its stream goes on by itself. */
    void giveBack(StagingBlock block) {
        left.add(block);
        if (closed) {
            abandon();
        }
    }

    private synchronized void reclaim() {
        for (int i = left.size(); i > 0; i--) {
            StagingBlock block = left.remove();
            if (!block.has(StagingBlock.PASSED)) {
                left.add(block);
                continue;
            }
            stagedBytes -= block.sizeBytes;
            if (freeBytes + block.sizeBytes > MAX_FREE_BYTES) {
                free(device, block);
            } else {
                free.add(block);
                freeBytes += block.sizeBytes;
            }
        }
    }

    /** Frees what can be freed; later communicators look after the rest. */
    void close() {
        synchronized (this) {
            closed = true;
            reclaim();
            free.forEach(block -> free(device, block));
            free.clear();
            freeBytes = 0;
        }
        abandon();
    }

    private synchronized void abandon() {
        synchronized (ORPHANS) {
            for (StagingBlock block = left.poll(); block != null; block = left.poll()) {
                ORPHANS.add(new Orphan(device, block));
            }
        }
        freeOrphans();
    }

    private static void freeOrphans() {
        synchronized (ORPHANS) {
            ORPHANS.removeIf(
                    orphan -> {
                        boolean passed = orphan.block.has(StagingBlock.PASSED);
                        if (passed) {
                            free(orphan.device, orphan.block);
                        }
                        return passed;
                    });
        }
    }

    /** Frees a block. A device that refuses must not keep the communicator from ending. */
    private static void free(Device device, StagingBlock block) {
        try {
            device.freeHost(block.address);
        } catch (RuntimeException refused) {
            Log.survived("staging memory is lost: ", refused);
        }
    }
}
