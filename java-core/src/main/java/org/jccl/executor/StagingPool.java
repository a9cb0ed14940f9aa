package org.jccl.executor;

import org.jccl.device.Device;
import org.jccl.type.ErrorKind;
import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;

/**
 * The staging blocks of one communicator. Those of ended operations are given back without a lock,
 * by whoever owns the communicator; they are used again, or freed, once their streams have gone on.
 */
final class StagingPool {
    /** Bound on blocks in use and those of ended operations whose streams have not gone on. */
    private static final long MAX_STAGED_BYTES = 1L << 32;

    /** Bound on blocks that are kept for later operations. */
    private static final long MAX_FREE_BYTES = 1L << 28;

    /** How much larger than what is needed a block may be that serves again. */
    private static final int MOST_TIMES = 4;

    /** How many blocks a call looks at that were given back; it takes one. */
    private static final int LOOKS = 8;

    private static final long SMALLEST_BLOCK = 4096;
    private static final long LARGE = 1 << 20;

    /**
     * Blocks that a stream has yet to come to, after the end of their communicators. Guarded by
     * itself.
     */
    private static final ArrayList<StagingBlock> ORPHANS = new ArrayList<>();

    private final Device device;

    /** Blocks of ended operations whose streams may have to go on; any thread adds to it. */
    private final ConcurrentLinkedQueue<StagingBlock> left = new ConcurrentLinkedQueue<>();

    /** Those without data whose streams have gone on, linked; any thread adds to it. */
    private final AtomicReference<@Nullable StagingBlock> passed = new AtomicReference<>();

    /** The same, taken from there. Guarded by this. */
    private @Nullable StagingBlock spare;

    /** By size, blocks that no stream and no operation uses. Guarded by this, as the two below. */
    private final TreeMap<Long, ArrayDeque<StagingBlock>> free = new TreeMap<>();

    private long freeBytes;
    private long stagedBytes;

    /** Set once (volatile); from then on blocks that are given back are orphans. */
    private volatile boolean closed;

    StagingPool(Device device) {
        this.device = device;
        freeOrphans();
    }

    /**
     * Takes a block with room for so many bytes of a task and begins its next use.
     *
     * @throws org.jccl.type.NcclException if the bytes do not fit beside what is staged, or the
     *     device gives no memory
     */
    synchronized StagingBlock take(Task task, long bytes) {
        reclaim(LOOKS);
        if (bytes == 0) {
            return takeWords();
        }
        long size = sizeFor(StagingBlock.HEADER_BYTES + bytes);
        if (size > MAX_STAGED_BYTES - stagedBytes) {
            reclaim(left.size());
        }
        if (bytes < 0 || bytes > MAX_STAGED_BYTES || size > MAX_STAGED_BYTES - stagedBytes) {
            throw ErrorKind.TOO_MUCH_STAGED.says(
                    "nccl%s : %s bytes of %s do not fit beside the %s that are under way; "
                            + "the bound is %s: synchronize the stream before, or divide the call",
                    task.operation().ncclName(),
                    bytes,
                    device.name(),
                    stagedBytes,
                    MAX_STAGED_BYTES);
        }
        StagingBlock block = takeFree(size);
        if (block == null) {
            block = new StagingBlock(device, size);
        }
        block.next();
        stagedBytes += block.sizeBytes;
        return block;
    }

    /** Without data, so that it does not count. */
    private StagingBlock takeWords() {
        StagingBlock block = spare == null ? passed.getAndSet(null) : spare;
        if (block == null) {
            block = new StagingBlock(device, StagingBlock.HEADER_BYTES);
        } else {
            spare = block.link;
            block.link = null;
        }
        block.next();
        return block;
    }

    private @Nullable StagingBlock takeFree(long size) {
        var fitting = free.ceilingEntry(size);
        if (fitting == null || fitting.getKey() > MOST_TIMES * size) {
            return null;
        }
        StagingBlock block = fitting.getValue().removeLast();
        if (fitting.getValue().isEmpty()) {
            free.remove(block.sizeBytes);
        }
        freeBytes -= block.sizeBytes;
        return block;
    }

    private static long sizeFor(long bytes) {
        return bytes > LARGE
                ? (bytes + LARGE - 1) & -LARGE
                : Math.max(SMALLEST_BLOCK, Long.highestOneBit(bytes - 1) << 1);
    }

    /** Takes back the block of an operation that has ended; its stream goes on by itself. */
    void giveBack(StagingBlock block) {
        if (block.isEmpty() && block.has(StagingBlock.PASSED)) {
            StagingBlock before;
            do {
                before = passed.get();
                block.link = before;
            } while (!passed.compareAndSet(before, block));
        } else {
            left.add(block);
        }
        if (closed) {
            abandon();
        }
    }

    private synchronized void reclaim(int looks) {
        for (int i = 0; i < looks; i++) {
            StagingBlock block = left.poll();
            if (block == null) {
                return;
            }
            if (!block.has(StagingBlock.PASSED)) {
                left.add(block);
                continue;
            }
            if (block.isEmpty()) {
                block.link = spare;
                spare = block;
                continue;
            }
            stagedBytes -= block.sizeBytes;
            if (freeBytes + block.sizeBytes > MAX_FREE_BYTES) {
                block.free();
            } else {
                free.computeIfAbsent(block.sizeBytes, size -> new ArrayDeque<>()).add(block);
                freeBytes += block.sizeBytes;
            }
        }
    }

    /** Frees what can be freed; later communicators look after the rest. */
    void close() {
        synchronized (this) {
            closed = true;
            reclaim(left.size());
            free.values().forEach(blocks -> blocks.forEach(StagingBlock::free));
            free.clear();
            freeBytes = 0;
            while (spare != null) {
                StagingBlock block = spare;
                spare = block.link;
                block.free();
            }
        }
        abandon();
    }

    private synchronized void abandon() {
        synchronized (ORPHANS) {
            for (StagingBlock block = left.poll(); block != null; block = left.poll()) {
                ORPHANS.add(block);
            }
            StagingBlock block = passed.getAndSet(null);
            for (; block != null; block = block.link) {
                ORPHANS.add(block);
            }
        }
        freeOrphans();
    }

    /** Each is forgotten before it is freed: nobody may look at it then, also if that fails. */
    private static void freeOrphans() {
        synchronized (ORPHANS) {
            for (int i = ORPHANS.size() - 1; i >= 0; i--) {
                StagingBlock orphan = ORPHANS.get(i);
                if (orphan.has(StagingBlock.PASSED)) {
                    ORPHANS.set(i, ORPHANS.getLast());
                    ORPHANS.removeLast();
                    orphan.free();
                }
            }
        }
    }
}
