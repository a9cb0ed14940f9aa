package org.jccl.executor;

import org.jccl.call.Call;
import org.jccl.fuzz.FuzzTarget;
import org.jccl.platform.Memory;
import org.jccl.platform.SharedMemory;
import org.jccl.transport.Area;
import org.jccl.transport.Links;
import org.jccl.transport.Mate;
import org.jccl.transport.Peer;
import org.jccl.transport.Region;
import org.jccl.transport.RegionLayout;
import org.jccl.type.DataType;
import org.jccl.type.Operation;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The words of a peer that sends and receives read: heads, tails and slots. */
public final class FifoTargets {
    private static final long COUNT = 100;
    private static final int TYPE = DataType.UINT8.number();
    private static final int GUARD = 64;

    private FifoTargets() {}

    /** All targets of this package. */
    public static List<FuzzTarget> all() {
        return List.of(receive(), send());
    }

    private static byte[] words(long word, long count, int type) {
        ByteBuffer out = ByteBuffer.allocate(20).order(ByteOrder.nativeOrder());
        return out.putLong(word).putLong(count).putInt(type).array();
    }

    private static byte[] nonce(int number) {
        return ByteBuffer.allocate(RegionLayout.NONCE_BYTES).putInt(number).array();
    }

    /** Ranks 0, which is this one, and 1, whose memory is written to. */
    private static Links links() {
        Region own = Region.create(2, 0, nonce(1));
        Region peer = Region.create(2, 1, nonce(2));
        return new Links(
                0,
                new Peer[] {new Mate(own, null, 0), new Mate(peer, null, 0)},
                new byte[] {1},
                RegionLayout.limits(1),
                true);
    }

    private static FuzzTarget receive() {
        return new FuzzTarget(
                "fifo-head",
                40,
                List.of(words(0, 0, 0), words(1, COUNT, TYPE), words(4, COUNT, TYPE)),
                input -> {
                    byte[] padded = java.util.Arrays.copyOf(input, 20);
                    try (Links links = links();
                            SharedMemory buffer = SharedMemory.anonymous(GUARD + COUNT + GUARD)) {
                        Memory.copyIn(
                                padded,
                                0,
                                links.base(1) + RegionLayout.fifoFlag(Area.FIFO, 0, 0),
                                8);
                        long slots = links.region(1).address(Area.FIFO);
                        Memory.copyIn(padded, 8, slots + RegionLayout.fifoSlot(0, 0), 12);
                        long out = buffer.address() + GUARD;
                        Task task = new Task().of(call(Operation.RECV, out, COUNT), null);
                        boolean done = isOver(links, task);
                        return done ? "received" : "waits";
                    }
                },
                Set.of("received", "waits"),
                Map.of("too many", "chunks", "another message", "do not match"));
    }

    private static Call call(Operation operation, long buffer, long count) {
        return new Call().of(operation).buffer(buffer).elements(count, TYPE).with(1);
    }

    private static boolean isOver(Links links, Task task) {
        Lanes lanes = new Lanes(links, Area.FIFO);
        lanes.add(task);
        lanes.progress(over -> {});
        return lanes.size() == 0;
    }

    private static FuzzTarget send() {
        long bytes = 5L * RegionLayout.FIFO_PAYLOAD;
        return new FuzzTarget(
                "fifo-tail",
                100,
                List.of(words(0, 0, 0), words(1, 0, 0), words(4, 0, 0)),
                input -> {
                    byte[] padded = java.util.Arrays.copyOf(input, 20);
                    try (Links links = links();
                            SharedMemory buffer = SharedMemory.anonymous(bytes)) {
                        Memory.copyIn(
                                padded,
                                0,
                                links.base(1) + RegionLayout.fifoFlag(Area.FIFO, 0, 1),
                                8);
                        Task task =
                                new Task().of(call(Operation.SEND, buffer.address(), bytes), null);
                        boolean done = isOver(links, task);
                        return done ? "sent" : "waits";
                    }
                },
                Set.of("waits"),
                Map.of("taken too much", "says that it has taken"));
    }
}
