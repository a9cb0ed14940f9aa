package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.Stream;
import org.jccl.device.SimulatedDevice;
import org.jccl.device.UsedDevice;
import org.jccl.harness.Rank;
import org.jccl.type.DataType;
import org.jccl.type.NcclResult;
import org.jccl.type.RedOp;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CountDownLatch;

/** A rank with a device of its own, and a stream on it. */
final class Seat implements AutoCloseable {
    final Rank rank;
    final UsedDevice device;
    final Communicator comm;
    final Arena host = Arena.ofShared();
    final Stream stream;

    Seat(Rank rank) {
        this(rank, Config.DEFAULT);
    }

    Seat(Rank rank, Config config) {
        this(rank, config, rank.number());
    }

    Seat(Rank rank, Config config, int number) {
        this(rank, config, UsedDevice.number(number));
    }

    Seat(Rank rank, Config config, UsedDevice device) {
        this.rank = rank;
        this.device = device;
        this.comm = rank.init(config.withDevice(device.name()));
        this.stream = new Stream(device.openStream());
        if (comm.asyncError() == NcclResult.IN_PROGRESS) {
            comm.awaitReady(InitTest.SOON);
        }
    }

    MemorySegment holding(int count, int first) {
        MemorySegment memory = device.memory(4L * count);
        device.put(memory, Sums.filled(host, first, count));
        return memory;
    }

    MemorySegment content(MemorySegment memory) {
        MemorySegment content = host.allocate(memory.byteSize(), 8);
        device.get(content, memory);
        return content;
    }

    /** The stream goes on once the latch is open. */
    CountDownLatch busy() {
        CountDownLatch latch = new CountDownLatch(1);
        device.run(stream.handle(), () -> await(latch));
        return latch;
    }

    /** Requires that nobody writes it from now on, and frees it. */
    void requireUntouched(MemorySegment data) throws InterruptedException {
        MemorySegment poison = host.allocate(data.byteSize(), 8).fill((byte) 0xA5);
        device.put(data, poison);
        Thread.sleep(5);
        assertEquals(-1, content(data).mismatch(poison), "written after the end");
        device.release(data);
    }

    void synchronize() {
        try {
            device.synchronize(stream.handle());
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    void awaitFailure() throws InterruptedException {
        while (comm.asyncError() == NcclResult.SUCCESS) {
            Thread.sleep(5);
        }
    }

    void sum(MemorySegment data, int count) {
        comm.inStream(stream).allReduce(data, data, count, DataType.INT32, RedOp.SUM);
    }

    @Override
    public void close() {
        comm.close();
        device.closeStream(stream.handle());
        host.close();
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Blocks are freed when the streams have gone on; a later communicator looks after them. */
    static void requireNothingLeft(int ordinal) {
        requireNothingLeft(UsedDevice.number(ordinal));
    }

    /** The same for a device. */
    static void requireNothingLeft(UsedDevice used) {
        Config there = Config.DEFAULT.withDevice(used.name());
        Communicator.initRank(1, Communicator.uniqueId(), 0, there).close();
        if (used instanceof SimulatedDevice device) {
            assertEquals(0, device.openStreams(), "streams");
            assertEquals(0, device.pinnedBytes(), "pinned bytes");
            assertEquals(0, device.wrongFrees(), "memory was freed twice");
        }
    }
}
