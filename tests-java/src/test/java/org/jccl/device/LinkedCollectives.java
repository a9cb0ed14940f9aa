package org.jccl.device;

import org.jccl.call.Call;
import org.jccl.oracle.Oracle;
import org.jccl.platform.Memory;
import org.jccl.type.DataType;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.Operation;
import org.jccl.type.RedOp;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Operations of simulated devices. For a collective the streams of the ranks meet, copy each
 * other's inputs, meet again and write their outputs; a root that alone sends hands over copies and
 * goes on. A stream that sends waits until what it sent is received. As kernels do, they wait for
 * ever for a rank that does not come, unless the host stops them; and they believe what they are
 * told of the call.
 */
public final class LinkedCollectives implements DeviceCollectives {
    private static final Map<Long, LinkedCollectives> ALL = new ConcurrentHashMap<>();
    private static final AtomicLong IDS = new AtomicLong();
    private static final long POLL_NS = 20_000;

    private final SimulatedDevice device;
    private final int rank;
    private final long id = IDS.incrementAndGet();
    private final @Nullable LinkedCollectives[] team;

    /** How many operations the stream has begun to read in, and is done with reading in. */
    private volatile long begun;

    private volatile long read;

    /** What the present operation reads on this rank, and where. */
    private volatile @Nullable Call call;

    /** By rank, what it has sent to this one and this one has not received. */
    private final List<Queue<Message>> arrived = new ArrayList<>();

    /** By root, the inputs that it has handed over and this rank has not taken. */
    private final List<Queue<byte[]>> spread = new ArrayList<>();

    private record Message(byte[] bytes, CountDownLatch received) {}

    private volatile boolean stopped;
    private volatile @Nullable NcclException failure;

    private static final AtomicLong STOPS = new AtomicLong();

    /** How often one was stopped. */
    public static long stops() {
        return STOPS.get();
    }

    /** How many of these exist. */
    public static int open() {
        return ALL.size();
    }

    LinkedCollectives(SimulatedDevice device, int rank, int nRanks) {
        this.device = device;
        this.rank = rank;
        this.team = new LinkedCollectives[nRanks];
        team[rank] = this;
        for (int q = 0; q < nRanks; q++) {
            arrived.add(new ConcurrentLinkedQueue<>());
            spread.add(new ConcurrentLinkedQueue<>());
        }
        ALL.put(id, this);
    }

    @Override
    public byte[] description() {
        return ByteBuffer.allocate(Long.BYTES).putLong(id).array();
    }

    @Override
    public void connect(int q, boolean here, byte[] description) {
        LinkedCollectives other = ALL.get(ByteBuffer.wrap(description).getLong());
        if (!here || other == null || other.device == device) {
            throw ErrorKind.DEVICE_FAILED.says("%s does not reach rank %s", device.name(), q);
        }
        team[q] = other;
    }

    @Override
    public boolean takes(Call one) {
        boolean plain = one.composed() == null && one.factor() == null;
        return plain && (one.operation().pointToPoint() || one.count() > 0);
    }

    @Override
    public @Nullable NcclException failure() {
        return failure;
    }

    @Override
    public boolean isCaptured(long stream) {
        return device.isCaptured(stream);
    }

    @Override
    public boolean launch(Call given, long started, long done, long use) {
        try {
            device.mayRefuse("a later part");
        } catch (NcclException refused) {
            failure = refused;
            return false;
        }
        Call copy = new Copy(given);
        boolean captured = device.isCaptured(given.stream());
        device.launch(
                given.stream(),
                () -> {
                    set(captured ? 0 : started, use);
                    run(copy);
                    set(captured ? 0 : done, use);
                });
        return captured;
    }

    @Override
    public void exchange(List<? extends Call> group, long started, long done, long use) {
        List<Call> copies = new ArrayList<>();
        group.forEach(each -> copies.add(new Copy(each)));
        device.launch(
                group.getFirst().stream(),
                () -> {
                    set(started, use);
                    transfer(copies);
                    set(done, use);
                });
    }

    private void transfer(List<Call> group) {
        List<Message> sent = new ArrayList<>();
        for (Call send : group) {
            if (send.operation() == Operation.SEND) {
                byte[] bytes = bytes(send.input(), send.partBytes());
                Message message = new Message(bytes, new CountDownLatch(1));
                sent.add(message);
                Objects.requireNonNull(team[send.peer()]).arrived.get(rank).add(message);
            }
        }
        for (Call receive : group) {
            if (receive.operation() == Operation.RECV) {
                Queue<Message> from = arrived.get(receive.peer());
                if (!await(() -> !from.isEmpty())) {
                    return;
                }
                Message message = from.remove();
                int most = Math.toIntExact(receive.partBytes());
                put(receive, 0, slice(message.bytes, 0, Math.min(most, message.bytes.length)));
                message.received.countDown();
            }
        }
        await(() -> sent.stream().allMatch(each -> each.received.getCount() == 0));
    }

    private boolean await(BooleanSupplier condition) {
        while (!condition.getAsBoolean()) {
            if (stopped || device.fault() != null) {
                return false;
            }
            LockSupport.parkNanos(POLL_NS);
        }
        return true;
    }

    /** The caller's object stands for another call soon. */
    private static final class Copy extends Call {
        Copy(Call of) {
            take(of);
        }
    }

    private static void set(long word, long use) {
        if (word != 0) {
            Memory.putLongRelease(word, use);
        }
    }

    private void run(Call mine) {
        long number = begun + 1;
        call = mine;
        begun = number;
        if (mine.operation() == Operation.BROADCAST || mine.operation() == Operation.SCATTER) {
            read = number;
            spread(mine);
            return;
        }
        if (!meet(number, false)) {
            return;
        }
        List<byte[]> inputs = new ArrayList<>();
        for (LinkedCollectives each : team) {
            LinkedCollectives other = Objects.requireNonNull(each);
            inputs.add(other.input(Objects.requireNonNull(other.call), mine.partBytes()));
        }
        read = number;
        if (meet(number, true)) {
            output(mine, inputs);
        }
    }

    /** Hands over the input of the root, which this rank may be. */
    private void spread(Call mine) {
        int root = mine.peer();
        List<byte[]> inputs = new ArrayList<>(Collections.nCopies(team.length, new byte[0]));
        if (rank == root) {
            byte[] input = input(mine, mine.partBytes());
            inputs.set(root, input);
            for (LinkedCollectives each : team) {
                if (each != this) {
                    Objects.requireNonNull(each).spread.get(root).add(input);
                }
            }
        } else {
            Queue<byte[]> from = spread.get(root);
            if (!await(() -> !from.isEmpty())) {
                return;
            }
            inputs.set(root, from.remove());
        }
        output(mine, inputs);
    }

    private boolean meet(long number, boolean reading) {
        for (LinkedCollectives each : team) {
            LinkedCollectives other = Objects.requireNonNull(each);
            if (!await(() -> (reading ? other.read : other.begun) >= number)) {
                return false;
            }
        }
        return true;
    }

    private byte[] input(Call theirs, long part) {
        Operation op = theirs.operation();
        boolean sends = op.sends(rank, theirs.peer());
        return bytes(theirs.input(), sends ? op.inSize(part, team.length) : 0);
    }

    private byte[] bytes(long address, long count) {
        byte[] bytes = new byte[Math.toIntExact(count)];
        if (count > 0) {
            MemorySegment from = UsedDevice.segment(device.inWindow(address), count);
            MemorySegment.copy(from, ValueLayout.JAVA_BYTE, 0, bytes, 0, bytes.length);
        }
        return bytes;
    }

    private void output(Call mine, List<byte[]> inputs) {
        try {
            device.awaitHolder();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        Operation op = mine.operation();
        if (!op.receives(rank, mine.peer())) {
            return;
        }
        int part = Math.toIntExact(mine.partBytes());
        int root = mine.peer();
        byte[][] all = inputs.toArray(byte[][]::new);
        switch (op) {
            case ALL_REDUCE, REDUCE -> put(mine, 0, folded(mine, all, 0, part));
            case REDUCE_SCATTER -> put(mine, 0, folded(mine, all, rank * part, part));
            case BROADCAST -> put(mine, 0, slice(all[root], 0, part));
            case SCATTER -> put(mine, 0, slice(all[root], rank * part, part));
            default -> {
                for (int q = 0; q < all.length; q++) {
                    int from = op == Operation.ALL_TO_ALL ? rank * part : 0;
                    put(mine, (long) q * part, slice(all[q], from, part));
                }
            }
        }
    }

    private static byte[] slice(byte[] of, int from, int bytes) {
        return Arrays.copyOfRange(of, from, from + bytes);
    }

    private static byte[] folded(Call mine, byte[][] all, int from, int part) {
        byte[][] parts = new byte[all.length][];
        for (int q = 0; q < all.length; q++) {
            parts[q] = slice(all[q], from, part);
        }
        return Oracle.fold(DataType.of(mine.typeNumber()), RedOp.of(mine.redOp()), parts);
    }

    private void put(Call mine, long at, byte[] bytes) {
        MemorySegment to = UsedDevice.segment(device.inWindow(mine.output() + at), bytes.length);
        MemorySegment.copy(bytes, 0, to, ValueLayout.JAVA_BYTE, 0, bytes.length);
    }

    @Override
    public void stop() {
        stopped = true;
        STOPS.incrementAndGet();
    }

    @Override
    public void discard() {
        close();
    }

    @Override
    public void close() {
        ALL.remove(id);
    }
}
