package org.jccl.log;

import org.jccl.platform.Futex;
import org.jccl.platform.Memory;
import org.jccl.platform.Threads;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.concurrent.locks.LockSupport;

/**
 * The thread that writes the lines of the log. No other one does, so that a call never waits for
 * the reader of the log. As long as lines are written as fast as they come, each is written before
 * the call goes on, and is there whatever becomes of the process.
 */
final class LogWriter implements Runnable {
    /** The bytes of lines that may wait to be written. */
    static final int MOST_BYTES = 256 << 10;

    /**
     * How long a line may hold up its thread. After that nobody waits until all lines are written.
     */
    private static final long PATIENCE_NS = 100_000_000;

    /** How long the end of the process waits for the last lines, however often it asks for that. */
    private static final long FAREWELL_NS = 1_000_000_000;

    private static final long IDLE_NS = 3_600_000_000_000L;

    /**
     * A line on its way.
     *
     * @param number counts lines; 0 if nobody may wait for it
     * @param stands the lines that it counts for: more than one if it tells of lost ones
     */
    @SuppressWarnings("ArrayRecordComponent")
    private record Line(LogFile file, byte[] bytes, int number, long stands) {}

    // Two words on which threads sleep. ARRIVED grows with each line, WRITTEN is the number of the
    // line that was written last: stored with release by the log's thread, read with acquire.
    private static final long ARRIVED = Arena.global().allocate(8, 8).address();
    private static final long WRITTEN = ARRIVED + 4;

    private static final ArrayDeque<Line> WAITING = new ArrayDeque<>();

    // Guarded by WAITING.
    private static long waitingBytes;
    private static int lastNumber;
    private static long lost;
    private static long waitedInVainNs;
    private static boolean started;

    // Set by a thread that waited too long, cleared by the log's thread when all lines are written,
    // read by any thread (volatile). One that reads an old value waits once more, or once less.
    private static volatile boolean stalled;

    private LogWriter() {}

    /** Hands a line over, and waits a little until it is written. Nothing is thrown. */
    static void put(LogFile file, byte[] bytes) {
        int number = add(file, bytes);
        if (number != 0) {
            Memory.getAndAddInt(ARRIVED, 1);
            Futex.wake(ARRIVED, 1);
            // A virtual thread would keep its carrier.
            boolean waits = !stalled && !Thread.currentThread().isVirtual();
            if (waits && !await(number, PATIENCE_NS)) {
                stalled = true;
            }
        }
    }

    /**
     * Waits, but not long, until all lines are written. Several calls that wait in vain wait
     * together no longer than one.
     */
    static void flush() {
        int number;
        long limitNs;
        synchronized (WAITING) {
            number = lastNumber;
            limitNs = FAREWELL_NS - waitedInVainNs;
        }
        long sinceNs = System.nanoTime();
        if (!await(number, limitNs)) {
            synchronized (WAITING) {
                waitedInVainNs += System.nanoTime() - sinceNs;
            }
        }
    }

    /** The line's number, or 0 if there is no room for it. */
    private static int add(LogFile file, byte[] bytes) {
        synchronized (WAITING) {
            // Once a line is lost, those behind it are as well until the gap can be told of.
            boolean gap = lost > 0 && !WAITING.isEmpty();
            if (gap || waitingBytes + bytes.length > MOST_BYTES || !start()) {
                lost++;
                return 0;
            }
            if (lost > 0) {
                WAITING.add(gap(file));
            }
            lastNumber = lastNumber == -1 ? 1 : lastNumber + 1;
            WAITING.add(new Line(file, bytes, lastNumber, 1));
            waitingBytes += bytes.length;
            return lastNumber;
        }
    }

    private static Line gap(LogFile file) {
        String text =
                Log.head() + "NCCL WARN " + lost + " lines of the log are lost before this one\n";
        Line line = new Line(file, text.getBytes(StandardCharsets.UTF_8), 0, lost);
        lost = 0;
        return line;
    }

    /** Whether there is a thread. Without one the line is lost, and the next one counts it. */
    private static boolean start() {
        if (!started) {
            try {
                Thread thread = Threads.daemon("jccl-log", new LogWriter());
                thread.start();
                started = true;
                Runtime.getRuntime().addShutdownHook(new Thread(LogWriter::flush, "jccl-log-end"));
            } catch (IllegalStateException | OutOfMemoryError atTheEnd) {
                // No thread is left, or Java ends: then its last lines are not waited for.
            }
        }
        return started;
    }

    /** Whether a line is written, at the latest after that time. */
    private static boolean await(int number, long limitNs) {
        long end = System.nanoTime() + limitNs;
        while (true) {
            int written = Memory.getIntAcquire(WRITTEN);
            if (written - number >= 0) {
                return true;
            }
            long left = end - System.nanoTime();
            if (left <= 0) {
                return false;
            }
            Futex.await(WRITTEN, written, left);
        }
    }

    @Override
    public void run() {
        Line last = null;
        boolean begun = false;
        while (true) {
            try {
                if (!begun) {
                    Threads.writesEndNoProcess();
                    begun = true;
                }
                last = step(last);
            } catch (RuntimeException | Error failure) {
                // Without memory it cannot even tell of lost lines; perhaps it can later.
                LockSupport.parkNanos(PATIENCE_NS);
            }
        }
    }

    /** Writes the next line, if there is one. Returns the line that was written last, or null. */
    private static @Nullable Line step(@Nullable Line last) {
        int arrived = Memory.getIntAcquire(ARRIVED);
        Line line = take(last);
        if (line == null) {
            Futex.await(ARRIVED, arrived, IDLE_NS);
            return last;
        }
        boolean well = write(line);
        if (line.number != 0) {
            Memory.putIntRelease(WRITTEN, line.number);
            Futex.wake(WRITTEN, Integer.MAX_VALUE);
        }
        return well ? line : null;
    }

    /**
     * The next line or, without one, a line about those lost behind the last, if that could be
     * written.
     *
     * @param last the line that was just written, or null if it could not be
     */
    private static @Nullable Line take(@Nullable Line last) {
        synchronized (WAITING) {
            Line line = WAITING.poll();
            if (line == null && lost > 0 && last != null) {
                return gap(last.file);
            }
            if (line == null) {
                stalled = false;
                waitedInVainNs = 0;
            } else if (line.number != 0) {
                waitingBytes -= line.bytes.length;
            }
            return line;
        }
    }

    private static boolean write(Line line) {
        try {
            line.file.writeNow(line.bytes);
            return true;
        } catch (IOException | RuntimeException | Error nobodyReads) {
            // A log that cannot be written must not fail anything.
            synchronized (WAITING) {
                lost += line.stands;
            }
            return false;
        }
    }
}
