package org.jccl.cuda;

import com.sun.management.ThreadMXBean;

import org.jccl.Collectives;
import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.Group;
import org.jccl.Stream;
import org.jccl.device.Device;
import org.jccl.type.DataType;
import org.jccl.type.Operation;
import org.jccl.type.RedOp;
import org.jccl.type.UniqueId;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * A program that runs every operation on the GPUs of {@code driver.cpp}, of which each rank, a
 * thread, has one. Their memory is memory of the process, so that results are looked at in place.
 * It prints how many results were right, and what a call allocates on Java's heap, by itself or in
 * a group.
 *
 * <p>Arguments: the numbers of ranks and of GPUs, which ranks share if there are fewer.
 */
final class SoftwareGpus {
    private static final DataType TYPE = DataType.INT32;

    /** For kernels of lines, small and large, and of pieces. */
    private static final int[] COUNTS = {1, 1000, 300_001, 2_100_003};

    /** For several phases, and for an all-reduce in pieces. */
    private static final int LONG_COUNT = 8_500_001;

    private static final long ROOM = 4L * 9_000_000;

    private static final VarHandle WORD = ValueLayout.JAVA_LONG.varHandle();

    private static final byte UNTOUCHED = 0x5a;

    /** A task has some 200 bytes; the stream thread's start, after a pause, makes objects. */
    static final int LEAST_OBJECT = 32;

    private static final int CALLS = 2_000;

    /** Fewer than there are tasks that serve again. */
    private static final int CALLS_AT_ONCE = 100;

    private static final int MOST_ROUNDS = 100;

    /** By rank, what a call allocates. */
    private static long[] bytesOfCall = {};

    private static int nGpus;
    private static volatile boolean quiet;
    private static CyclicBarrier together = new CyclicBarrier(1);

    private SoftwareGpus() {}

    public static void main(String[] args) throws Exception {
        int nRanks = Integer.parseInt(args[0]);
        nGpus = Integer.parseInt(args[1]);
        bytesOfCall = new long[nRanks];
        together =
                new CyclicBarrier(
                        nRanks,
                        () -> quiet = Arrays.stream(bytesOfCall).allMatch(b -> b < LEAST_OBJECT));
        UniqueId id = Communicator.uniqueId();
        List<Callable<Integer>> ranks = new ArrayList<>();
        for (int r = 0; r < nRanks; r++) {
            int rank = r;
            ranks.add(() -> run(nRanks, id, rank));
        }
        int right = 0;
        try (ExecutorService threads = Executors.newFixedThreadPool(nRanks)) {
            for (Future<Integer> each : threads.invokeAll(ranks)) {
                right += each.get();
            }
        }
        System.out.println(right + " results are right");
        System.out.println(
                "a call allocates " + Arrays.stream(bytesOfCall).max().orElseThrow() + " bytes");
    }

    private static int run(int nRanks, UniqueId id, int rank) throws Exception {
        Config config = Config.DEFAULT.withDevice("cuda:" + rank % nGpus);
        try (Communicator comm = Communicator.initRank(nRanks, id, rank, config)) {
            return new Seat(comm, nRanks, rank).everything();
        }
    }

    /** One rank with its buffers. */
    private static final class Seat {
        final int nRanks;
        final int rank;
        final Device device;
        final long stream;
        final Collectives calls;
        final MemorySegment in;
        final MemorySegment out;
        int right;

        Seat(Communicator comm, int nRanks, int rank) {
            this.nRanks = nRanks;
            this.rank = rank;
            device = new CudaProvider().open(rank % nGpus);
            stream = device.openStream();
            calls = comm.inStream(new Stream(stream));
            in = buffer();
            out = buffer();
        }

        @SuppressWarnings("restricted")
        private MemorySegment buffer() {
            return MemorySegment.ofAddress(device.allocate(ROOM)).reinterpret(ROOM);
        }

        int everything() throws Exception {
            for (Operation op : Operation.values()) {
                for (int count : op.pointToPoint() ? new int[0] : COUNTS) {
                    int parts = op.in() == op.out() && op.in() != Operation.Parts.EACH ? 1 : nRanks;
                    if (4L * count * parts <= ROOM) {
                        check(op, count, count % nRanks, false);
                        check(op, count, (count + 1) % nRanks, true);
                    }
                }
            }
            almostAlike();
            check(Operation.ALL_REDUCE, LONG_COUNT, 0, false);
            check(Operation.BROADCAST, LONG_COUNT, 1, true);
            check(Operation.REDUCE, LONG_COUNT, 1, true);
            for (int count : new int[] {1, 5000, 5_000_000}) {
                pass(count);
            }
            staged();
            // Calls of ranks that share a GPU are staged.
            if (nGpus == nRanks) {
                measure();
            }
            device.closeStream(stream);
            device.free(in.address());
            device.free(out.address());
            return right;
        }

        private static int element(int rank, int part, int i) {
            return rank * 1009 + part * 53 + i * 7;
        }

        private static void set(MemorySegment at, long index, int value) {
            at.set(ValueLayout.JAVA_INT, 4 * index, value);
        }

        private static int get(MemorySegment at, long index) {
            return at.get(ValueLayout.JAVA_INT, 4 * index);
        }

        private void fill(MemorySegment at, int parts, int count) {
            for (int part = 0; part < parts; part++) {
                for (int i = 0; i < count; i++) {
                    set(at, (long) part * count + i, element(rank, part, i));
                }
            }
        }

        private void check(Operation op, int count, int root, boolean inPlace) {
            int inParts = op.in() == Operation.Parts.EACH ? nRanks : 1;
            int outParts = op.out() == Operation.Parts.EACH ? nRanks : 1;
            long distance = 4 * op.inPlaceDistance(count, rank);
            MemorySegment to = inPlace ? in : out;
            MemorySegment from = in;
            if (inPlace && distance > 0) {
                from = in.asSlice(distance);
            } else if (inPlace) {
                to = in.asSlice(-distance);
            }
            to.asSlice(0, 4L * outParts * count).fill(UNTOUCHED);
            fill(from, inParts, count);
            call(op, from, to, count, root);
            await();
            for (int part = 0; op.receives(rank, root) && part < outParts; part++) {
                for (int i = 0; i < count; i++) {
                    int mine = op.in() == Operation.Parts.EACH ? rank : 0;
                    int want = expected(op, outParts > 1 ? part : root, mine, i);
                    require(get(to, (long) part * count + i), want, op, count, inPlace);
                }
            }
            right++;
            // Nobody writes the next inputs while others read these.
            calls.allReduce(out, out, 1, TYPE, RedOp.SUM);
            await();
        }

        private int expected(Operation op, int sender, int part, int i) {
            if (!op.reduces()) {
                return element(sender, part, i);
            }
            int sum = 0;
            for (int q = 0; q < nRanks; q++) {
                sum += element(q, part, i);
            }
            return sum;
        }

        private void require(int found, int want, Operation op, int count, boolean inPlace) {
            if (found != want) {
                throw new IllegalStateException(
                        String.format(
                                "rank %d of %d has %d in place of %d: %s of %d%s",
                                rank, nRanks, found, want, op, count, inPlace ? ", in place" : ""));
            }
        }

        private void call(Operation op, MemorySegment from, MemorySegment to, int count, int root) {
            switch (op) {
                case ALL_REDUCE -> calls.allReduce(from, to, count, TYPE, RedOp.SUM);
                case BROADCAST -> calls.broadcast(from, to, count, TYPE, root);
                case ALL_GATHER -> calls.allGather(from, to, count, TYPE);
                case REDUCE_SCATTER -> calls.reduceScatter(from, to, count, TYPE, RedOp.SUM);
                case REDUCE -> calls.reduce(from, to, count, TYPE, RedOp.SUM, root);
                case ALL_TO_ALL -> calls.allToAll(from, to, count, TYPE);
                case GATHER -> calls.gather(from, to, count, TYPE, root);
                case SCATTER -> calls.scatter(from, to, count, TYPE, root);
                default -> throw new IllegalStateException("no call for " + op);
            }
        }

        /** A call right after one that has another root, and one that has another reduction. */
        private void almostAlike() {
            int count = 10;
            fill(in, 1, count);
            calls.broadcast(in, out, count, TYPE, 0);
            calls.broadcast(in, out, count, TYPE, 1);
            await();
            for (int i = 0; i < count; i++) {
                require(get(out, i), element(1, 0, i), Operation.BROADCAST, count, false);
            }
            calls.allReduce(in, out, count, TYPE, RedOp.SUM);
            calls.allReduce(in, out, count, TYPE, RedOp.AVG);
            await();
            for (int i = 0; i < count; i++) {
                int sum = expected(Operation.ALL_REDUCE, 0, 0, i);
                require(get(out, i), sum / nRanks, Operation.ALL_REDUCE, count, false);
            }
            right++;
        }

        /** To the next rank from the one before, and to itself, in one group. */
        private void pass(int count) {
            int next = (rank + 1) % nRanks;
            int before = (rank + nRanks - 1) % nRanks;
            fill(in, 1, count);
            MemorySegment own = out.asSlice(4L * count);
            Group.run(
                    () -> {
                        calls.send(in, count, TYPE, next);
                        calls.send(in, Math.min(count, 100), TYPE, rank);
                        calls.recv(out, count, TYPE, before);
                        calls.recv(own, Math.min(count, 100), TYPE, rank);
                    });
            await();
            for (int i = 0; i < count; i++) {
                require(get(out, i), element(before, 0, i), Operation.RECV, count, false);
            }
            for (int i = 0; i < Math.min(count, 100); i++) {
                require(get(own, i), element(rank, 0, i), Operation.RECV, 100, false);
            }
            right++;
            calls.allReduce(out, out, 1, TYPE, RedOp.SUM);
            await();
        }

        /** Measures until no rank's calls make objects, when the compilers are done. */
        private void measure() throws Exception {
            Runnable call = () -> calls.allReduce(in, out, 100, TYPE, RedOp.SUM);
            Runnable group = () -> Group.run(call);
            Runnable both = this::exchange;
            Runnable transfers = () -> Group.run(both);
            for (int round = 0; round < MOST_ROUNDS && !quiet; round++) {
                long ofCollectives = Math.max(bytesOf(call), bytesOf(group));
                bytesOfCall[rank] = Math.max(ofCollectives, bytesOf(transfers));
                together.await();
            }
        }

        private void exchange() {
            calls.send(in, 100, TYPE, (rank + 1) % nRanks);
            calls.recv(out, 100, TYPE, (rank + nRanks - 1) % nRanks);
        }

        private long bytesOf(Runnable call) {
            long bytes = 0;
            for (int i = 0; i < CALLS; i += CALLS_AT_ONCE) {
                long before = allocated();
                for (int k = 0; k < CALLS_AT_ONCE; k++) {
                    call.run();
                }
                bytes += allocated() - before;
                await();
            }
            return bytes / CALLS;
        }

        private static long allocated() {
            return ((ThreadMXBean) ManagementFactory.getThreadMXBean())
                    .getCurrentThreadAllocatedBytes();
        }

        /** What no kernel does goes through the host: a call of no elements, and one after it. */
        private void staged() {
            calls.allReduce(in, out, 0, TYPE, RedOp.SUM);
            check(Operation.ALL_GATHER, 7, 0, false);
        }

        @SuppressWarnings("restricted")
        private void await() {
            MemorySegment word = MemorySegment.ofAddress(device.allocateHost(8)).reinterpret(8);
            word.set(ValueLayout.JAVA_LONG, 0, 0);
            device.write(word.address(), 1, stream);
            while ((long) WORD.getAcquire(word, 0L) == 0) {
                Thread.onSpinWait();
            }
            device.freeHost(word.address());
        }
    }
}
