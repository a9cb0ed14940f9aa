package org.jccl.abi;

import org.jccl.log.LastError;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclResult;
import org.jccl.type.Version;

import java.lang.foreign.MemorySegment;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * What a guest language of this JVM needs besides {@link NcclApi}: memory for out parameters,
 * texts, and the rank to which its thread belongs. A caller has ints, texts, and buffers of Java's,
 * whose content its language reads without calling Java.
 */
public final class GuestApi {
    /** Bytes of a thread's block: the out parameter and the slice. */
    private static final int BLOCK_BYTES = 16;

    /** Where a thread's {@code jcclSlice} lies in its block. */
    private static final int SLICE = 8;

    /** The answer of {@link #taken} if no rank gives what it waits for. */
    public static final String NO_MORE = "-";

    /** A thread's block lives as long as the thread, whose waits look at the slice in it. */
    private static final ThreadLocal<ByteBuffer> BLOCK =
            ThreadLocal.withInitial(
                    () -> {
                        LastError.keepForThreads();
                        Extras.endWithHost();
                        ByteBuffer block = memory(BLOCK_BYTES);
                        NcclApi.sliced(address(block) + SLICE);
                        return block;
                    });

    private GuestApi() {}

    /**
     * This thread's block: a word for an out parameter, and a word for a {@code jcclSlice} that the
     * thread's blocking calls look at.
     */
    public static ByteBuffer block() {
        return BLOCK.get();
    }

    static void resetSlice() {
        BLOCK.get().putLong(SLICE, 0);
    }

    /** Zeroed memory outside of the heap, in the machine's byte order. */
    public static ByteBuffer memory(int bytes) {
        return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
    }

    /** The address of a buffer's first byte, wherever its position is; 0 if it is on the heap. */
    public static long address(Buffer buffer) {
        return buffer.isDirect() ? MemorySegment.ofBuffer(buffer.duplicate().clear()).address() : 0;
    }

    /** How many calls of this thread are parked. */
    public static int parked() {
        return Parking.current().depth();
    }

    /** ncclGetLastError. */
    public static String lastError() {
        return LastError.ofThread();
    }

    /** ncclGetErrorString. */
    public static String errorString(int result) {
        return NcclResult.text(result);
    }

    /** ncclGetVersion. */
    public static int ncclVersion() {
        int[] parts =
                Arrays.stream(Version.NCCL.split("\\.")).mapToInt(Integer::parseInt).toArray();
        return (parts[0] * 100 + parts[1]) * 100 + parts[2];
    }

    /** The folder of this Java. */
    public static String javaHome() {
        return System.getProperty("java.home", "");
    }

    /** The result of a function that is not done yet. */
    public static int later(String function) {
        return Answer.done(
                0,
                () -> {
                    throw ErrorKind.NOT_DONE_YET.says(
                            "%s is not done yet in JCCL %s; see DIFFERENCES.md",
                            function, Version.text());
                });
    }

    /** This thread's rank has this communicator now. */
    public static void made(long comm) {
        Guest.current().made(comm);
    }

    /** This thread's rank has this memory of ncclMemAlloc now. */
    public static void allocated(long address) {
        Guest.current().allocated(address);
    }

    /** This thread's rank has freed it. */
    public static void freed(long address) {
        Guest.current().freed(address);
    }

    /** The end of this thread's program: aborts the communicators that it has left. */
    public static void leave() {
        Guest.current().close();
    }

    /** Whether the host of this thread's program has started other ranks with it. */
    public static boolean hasTeam() {
        return Guest.current().exchange() != null;
    }

    /** Gives the ranks of the team rank 0's text with this number. */
    public static void give(int number, String text) {
        Exchange exchange = Guest.current().exchange();
        if (exchange != null) {
            exchange.put(number, text);
        }
    }

    /**
     * Waits for rank 0's text with this number, for so many milliseconds at most.
     *
     * @return empty if there is none yet, {@link #NO_MORE} if rank 0 has ended without it
     */
    public static String taken(int number, int ms) throws InterruptedException {
        Exchange exchange = Guest.current().exchange();
        String text = exchange == null ? NO_MORE : exchange.get(number, ms);
        return text == null ? "" : text;
    }

    /** This thread's rank has waited in vain for rank 0's text with this number. */
    public static void missed(int number) {
        Guest.current().missed(number);
    }

    /** Whether this rank of this thread's team has ended, if that has so many ranks. */
    public static boolean hasEnded(int rank, int ranks) {
        Exchange exchange = Guest.current().exchange();
        return exchange != null && exchange.ranks() == ranks && exchange.hasEnded(rank);
    }

    /** How often this thread's rank has asked this. */
    public static int nextExchange() {
        return Guest.current().nextExchange();
    }
}
