package org.jccl.executor;

import org.jccl.device.Device;
import org.jccl.log.Log;
import org.jccl.platform.Memory;
import org.jspecify.annotations.Nullable;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Host memory through which an operation's data comes from a stream of a device and goes back.
 * Three words in it, each the number of the latest use, tell one side about the other: the stream
 * has come to the operation; the result is there, or will never be; the stream has gone on.
 */
final class StagingBlock {
    /** The words are in one cache line, which is what a block without data consists of. */
    static final int HEADER_BYTES = 64;

    /** The caller's stream has come to the operation; it writes the word (release). */
    static final int ARRIVED = 0;

    /** The result is there, or will never be; the caller's stream waits for the word. */
    static final int DELIVERED = 8;

    /** The caller's stream has gone on; it writes the word when it last touches the block. */
    static final int PASSED = 16;

    /** The whole size, header included. */
    final long sizeBytes;

    private final Device device;
    private final long address;

    /**
     * The number of the latest use of any block. The device may give memory again that a stream has
     * still to look at, since it waits for a use that is over: words only grow.
     */
    private static final AtomicLong USES = new AtomicLong();

    /** Number of the current use; written while no stream and no other thread uses the block. */
    private long use;

    /** How many operations, and threads that launch them, have not let go of the current use. */
    private final AtomicInteger holders = new AtomicInteger();

    /** Where the result of the current use comes to be; below, where it is to go. */
    long result;

    long output;

    /** How much of it there is. */
    long outputBytes;

    /** The next block of a list that it is in. */
    @Nullable StagingBlock link;

    StagingBlock(Device device, long sizeBytes) {
        this.device = device;
        this.sizeBytes = sizeBytes;
        this.address = device.allocateHost(sizeBytes);
        for (int word : new int[] {ARRIVED, DELIVERED, PASSED}) {
            long left = Memory.getLongAcquire(address + word);
            if (left < 0 || left > USES.get()) {
                // It was no block before.
                Memory.putLongRelease(address + word, 0);
            }
        }
    }

    /** Whether it has no room for data. */
    boolean isEmpty() {
        return sizeBytes == HEADER_BYTES;
    }

    /** Where the data begins. */
    long data() {
        return address + HEADER_BYTES;
    }

    /** A number for a use that is larger than all before. */
    static long newUse() {
        return USES.incrementAndGet();
    }

    /** Begins the next use, which has one holder. */
    void next() {
        begin(newUse());
        holders.set(1);
    }

    /** Begins a use, from {@link #newUse}. */
    void begin(long next) {
        use = next;
    }

    /** Adds holders; by one who holds it. */
    void hold(int more) {
        holders.addAndGet(more);
    }

    /** A holder lets go; whether it was the last. */
    boolean letGo() {
        return holders.decrementAndGet() == 0;
    }

    /** The value that the words reach in this use. */
    long use() {
        return use;
    }

    /** Where one of the words is. */
    long word(int word) {
        return address + word;
    }

    /** Whether a word has come to the current use. */
    boolean has(int word) {
        return has(word, use);
    }

    /** Whether a word has come to a use. */
    boolean has(int word, long inUse) {
        return Memory.getLongAcquire(address + word) >= inUse;
    }

    /** Writes a word in the place of a stream that will not: it was given nothing, or no result. */
    void set(int word) {
        Memory.putLongRelease(address + word, use);
    }

    /** Frees the memory. A device that refuses must not keep the communicator from ending. */
    void free() {
        try {
            device.freeHost(address);
        } catch (RuntimeException refused) {
            Log.survived("staging memory is lost: ", refused);
        }
    }
}
