package org.jccl.executor;

import org.jccl.platform.Memory;

/**
 * Host memory through which an operation's data comes from a stream of a device and goes back.
 * Three words in it, each the number of the latest use, tell one side about the other: the stream
 * has come to the operation; the result is there, or will never be; the stream has gone on.
 */
final class StagingBlock {
    /** The words, each in a cache line of its own. */
    static final int HEADER_BYTES = 192;

    private static final int DELIVERED = 64;
    private static final int PASSED = 128;

    final long address;

    /** The whole size, header included. */
    final long sizeBytes;

    /** Number of the current use; written while no stream and no other thread uses the block. */
    private long use;

    StagingBlock(long address, long sizeBytes) {
        this.address = address;
        this.sizeBytes = sizeBytes;
    }

    /** Where the data begins. */
    long data() {
        return address + HEADER_BYTES;
    }

    /** Begins the next use. */
    void next() {
        use++;
    }

    /** The value that the words reach in this use. */
    long use() {
        return use;
    }

    /** The word that the caller's stream writes (release) once it has come to the operation. */
    long arrivedWord() {
        return address;
    }

    /** The word that the caller's stream waits for; written after the result, or by the host. */
    long deliveredWord() {
        return address + DELIVERED;
    }

    /** The word that the caller's stream writes after its wait, when it last touches the block. */
    long passedWord() {
        return address + PASSED;
    }

    boolean arrived() {
        return Memory.getLongAcquire(arrivedWord()) >= use;
    }

    boolean delivered() {
        return Memory.getLongAcquire(deliveredWord()) >= use;
    }

    boolean passed() {
        return Memory.getLongAcquire(passedWord()) >= use;
    }

    /** Says that the stream has gone on, if it was given nothing in this use. */
    void pass() {
        Memory.putLongRelease(passedWord(), use);
    }

    /** Lets the stream go on without a result. */
    void giveUp() {
        Memory.putLongRelease(deliveredWord(), use);
    }
}
