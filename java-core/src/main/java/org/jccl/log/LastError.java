package org.jccl.log;

import org.jccl.platform.Memory;
import org.jccl.platform.Threads;
import org.jccl.type.Utf8;

import java.lang.foreign.Arena;
import java.lang.invoke.VarHandle;
import java.nio.charset.StandardCharsets;

/**
 * The last failures of the process, which {@code ncclGetLastError} reads in native memory: of each
 * thread whose calls failed the last one, for as many threads as there is room, and the last one
 * that is no thread's. Java and C write them without a lock, so that a forked child or a thread
 * that stands still holds nobody up; error.c has the same layout.
 */
public final class LastError {
    /** Size of a text with its NUL. */
    public static final int BYTES = 1024;

    private static final int ENTRIES = 32;

    // Header: the highest number so far. An entry: its state, which is twice its number, or odd
    // while somebody writes it; the thread or 0; the text. Who makes the state odd owns the entry
    // until it releases it as even. A reader wants the same even state before and after.
    private static final int HEADER_BYTES = 64;
    private static final int THREAD = 8;
    private static final int TEXT = 16;
    private static final int ENTRY_BYTES = TEXT + BYTES;
    private static final long FAILURES =
            Arena.global().allocate(HEADER_BYTES + (long) ENTRIES * ENTRY_BYTES, 64).address();

    private LastError() {}

    /** Where the entries lie, for the life of the process. */
    public static long address() {
        return FAILURES;
    }

    /** Something that any thread may have to know; a text that is too long is cut. */
    public static void set(String text) {
        put(0, text);
    }

    /** Why the call of this thread fails: it is shown that, whatever fails elsewhere. */
    public static void setForThread(String text) {
        put(Threads.id(), text);
    }

    /** The newest text. */
    public static String get() {
        byte[] text = new byte[BYTES];
        while (true) {
            long newest = 0;
            long state = 0;
            for (int i = 0; i < ENTRIES; i++) {
                long now = Memory.getLongAcquire(entry(i));
                if ((now & 1) == 0 && now > state) {
                    newest = entry(i);
                    state = now;
                }
            }
            if (newest == 0) {
                return "";
            }
            Memory.copyOut(newest + TEXT, text, 0, BYTES);
            VarHandle.acquireFence();
            if (Memory.getLongAcquire(newest) == state) {
                int length = 0;
                while (text[length] != 0) {
                    length++;
                }
                return new String(text, 0, length, StandardCharsets.UTF_8);
            }
        }
    }

    private static void put(long thread, String text) {
        byte[] bytes = Utf8.encode(text, BYTES - 1);
        // Entries are refused only while others write them; if all are, the log alone has the text.
        for (int i = 0; i < ENTRIES; i++) {
            long entry = place(thread);
            if (entry != 0) {
                VarHandle.fullFence();
                Memory.putLong(entry + THREAD, thread);
                Memory.copyIn(bytes, 0, entry + TEXT, bytes.length);
                Memory.putByte(entry + TEXT + bytes.length, (byte) 0);
                long number = Memory.getAndAddLong(FAILURES, 1) + 1;
                Memory.putLongRelease(entry, 2 * number);
                return;
            }
        }
    }

    /** Takes the entry that the thread has, or else the oldest one; 0 if somebody was faster. */
    private static long place(long thread) {
        long chosen = 0;
        long state = Long.MAX_VALUE;
        for (int i = 0; i < ENTRIES; i++) {
            long now = Memory.getLongAcquire(entry(i));
            boolean own = now != 0 && Memory.getLong(entry(i) + THREAD) == thread;
            if ((now & 1) == 0 && (own || now < state)) {
                chosen = entry(i);
                state = now;
                if (own) {
                    break;
                }
            }
        }
        boolean taken = chosen != 0 && Memory.compareAndSetLong(chosen, state, state + 1);
        return taken ? chosen : 0;
    }

    private static long entry(int i) {
        return FAILURES + HEADER_BYTES + (long) i * ENTRY_BYTES;
    }
}
