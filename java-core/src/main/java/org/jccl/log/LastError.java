package org.jccl.log;

import org.jccl.type.Utf8;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The last failure. Where the C library runs, it keeps the last failures of all threads for {@code
 * ncclGetLastError}, in one table (error.c), since a thread is to read its own, and a forked child
 * has no Java to ask.
 */
public final class LastError {
    /** Size of a text with its NUL. */
    public static final int BYTES = 1024;

    // Written by any thread, read by any (volatile).
    private static volatile byte[] newest = {};

    // The address of C's table, 0 without one. Written once by share, read by any (volatile).
    private static volatile long table;

    // Whether Java itself tells threads of their failures (volatile).
    private static volatile boolean kept;

    /** A thread's last failure, and what the thread was told last. */
    private static final class Own {
        private byte[] text = {};
        private boolean untold;
        private boolean toldOwn;
        private byte[] newestThen = {};
    }

    private static final ThreadLocal<Own> OWN = ThreadLocal.withInitial(Own::new);

    private LastError() {}

    /** Callers in this JVM will ask {@link #ofThread}. */
    public static void keepForThreads() {
        kept = true;
    }

    /**
     * What a caller of {@code ncclGetLastError} on this thread is to know: the thread's own last
     * failure, or the newest of the process if it was told its own and others have failed since.
     */
    public static String ofThread() {
        Own own = OWN.get();
        byte[] now = newest;
        own.toldOwn = own.untold || own.toldOwn && Arrays.equals(now, own.newestThen);
        own.untold = false;
        own.newestThen = now;
        return new String(own.toldOwn ? own.text : now, StandardCharsets.UTF_8);
    }

    /**
     * The C library has a table, which is told of every failure from now on.
     *
     * @return the table to use, that of the first library in the process
     */
    public static synchronized long share(long another) {
        if (table == 0) {
            table = another;
            if (newest.length > 0) {
                put(newest, false);
            }
        }
        return table;
    }

    /** Something that any thread may have to know; a text that is too long is cut. */
    public static void set(String text) {
        put(Utf8.encode(text, BYTES - 1), false);
    }

    /** Why the call of this thread fails: the thread is shown this, whatever fails elsewhere. */
    public static void setForThread(String text) {
        put(Utf8.encode(text, BYTES - 1), true);
    }

    /** The newest text of Java's. */
    public static String get() {
        return new String(newest, StandardCharsets.UTF_8);
    }

    private static void put(byte[] text, boolean ofThread) {
        newest = text;
        if (kept && ofThread) {
            Own own = OWN.get();
            own.text = text;
            own.untold = true;
        }
        if (table != 0) {
            try {
                put0(text, ofThread);
            } catch (UnsatisfiedLinkError unregistered) {
                // Java had no memory to register it when it started.
            }
        }
    }

    private static native void put0(byte[] text, boolean ofThread);
}
