package org.jccl.device;

import org.jccl.platform.Memory;

import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.LockSupport;

/** A stream of a {@link SimulatedDevice}: a thread that does one thing after the other, slowly. */
final class SimulatedStream implements Runnable {
    private static final int PIECE_BYTES = 1 << 16;
    private static final int LONGEST_DELAY_NS = 200_000;
    private static final long POLL_NS = 20_000;

    private final SimulatedDevice device;
    private final LinkedBlockingQueue<Runnable> work = new LinkedBlockingQueue<>();
    private final Random random;
    private volatile boolean closed;

    SimulatedStream(SimulatedDevice device, long handle) {
        this.device = device;
        this.random = new Random(handle);
        Thread thread = new Thread(this, device.name() + "-stream-" + handle);
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void run() {
        try {
            while (!closed || !work.isEmpty()) {
                Runnable next = work.take();
                LockSupport.parkNanos(random.nextInt(LONGEST_DELAY_NS));
                if (device.fault() != null) {
                    return;
                }
                next.run();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    void add(Runnable next) {
        work.add(next);
    }

    void close() {
        add(() -> closed = true);
    }

    void copy(long from, long to, long bytes) {
        for (long done = 0; done < bytes && device.fault() == null; done += PIECE_BYTES) {
            Memory.copy(from + done, to + done, Math.min(PIECE_BYTES, bytes - done));
        }
    }

    void await(long address, long value) {
        while (Memory.getLongAcquire(address) < value && device.fault() == null) {
            LockSupport.parkNanos(POLL_NS);
        }
    }

    /** Waits until everything that it was given has been done, or the device has failed. */
    void synchronize() throws InterruptedException {
        CountDownLatch done = new CountDownLatch(1);
        add(done::countDown);
        while (!done.await(1, java.util.concurrent.TimeUnit.MILLISECONDS)) {
            if (device.fault() != null) {
                throw new IllegalStateException(device.name() + " has failed: " + device.fault());
            }
        }
    }
}
