package org.jccl.transport.net;

import org.jccl.fuzz.FuzzTarget;
import org.jccl.platform.Memory;
import org.jccl.platform.SharedMemory;
import org.jccl.platform.SocketAddress;
import org.jccl.platform.Sockets;
import org.jccl.transport.Area;
import org.jccl.transport.CallRecord;
import org.jccl.transport.Frame;
import org.jccl.transport.Region;
import org.jccl.transport.RegionLayout;
import org.jccl.type.Operation;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The bytes that come over a connection between two ranks. */
public final class NetTargets {
    private static final int RANKS = 3;
    private static final int PEER = 2;
    private static final Map<String, String> REFUSALS =
            Map.of(
                    "header", "rank 2 sent a header that is not JCCL's",
                    "payload", "rank 2 sent a payload outside its area",
                    "flag", "rank 2 sent a flag outside its area");

    private NetTargets() {}

    /** All targets of this package. */
    public static List<FuzzTarget> all() {
        return List.of(header(), stream());
    }

    private static byte[] frame(
            Area area, long offset, byte[] payload, long flag, long value, long call) {
        try (SharedMemory memory = SharedMemory.anonymous(Frame.HEADER_BYTES)) {
            long at = memory.address();
            long description = CallRecord.describe(Operation.ALL_REDUCE.number(), 7, 0, 0);
            Frame frame = new Frame().bytes(area, offset, 0, payload.length).flag(flag, value);
            frame.call(call, call == 0 ? 0 : description, call == 0 ? 0 : 1000);
            frame.write(at);
            byte[] bytes = new byte[Frame.HEADER_BYTES + payload.length];
            Memory.copyOut(at, bytes, 0, Frame.HEADER_BYTES);
            System.arraycopy(payload, 0, bytes, Frame.HEADER_BYTES, payload.length);
            return bytes;
        }
    }

    private static List<byte[]> frames() {
        long flag = RegionLayout.flag(1);
        long slot = RegionLayout.small(RANKS, 0);
        return List.of(
                frame(Area.BASE, slot, new byte[40], flag, 7, 7),
                frame(Area.RING, 0, new byte[8], flag, 8, 0),
                frame(Area.FIFO, 64, new byte[100], RegionLayout.fifoFlag(Area.FIFO, 1, 0), 1, 0),
                frame(Area.BASE, RegionLayout.STATUS_TEXT, new byte[20], RegionLayout.STATUS, 1, 0),
                frame(Area.BASE, 0, new byte[0], -1, 0, 9));
    }

    /** Frames at the last place that is possible, and at the first that is not. */
    private static List<byte[]> edges() {
        List<byte[]> edges = new ArrayList<>(frames());
        for (Area area : Area.values()) {
            long size = area.sizeBytes(RANKS);
            for (long end = size - 1; end <= size + 1; end++) {
                edges.add(frame(area, end - 8, new byte[8], -1, 0, 0));
            }
            edges.add(frame(area, -8, new byte[8], -1, 0, 0));
        }
        long base = RegionLayout.baseBytes(RANKS);
        for (long flag : new long[] {-8, -1, 0, 120, 124, 128, base - 8, base - 4, base}) {
            edges.add(frame(Area.BASE, 0, new byte[0], flag, 1, 0));
        }
        edges.add(frame(Area.RING, 0, new byte[Frame.MAX_PAYLOAD], -1, 0, 0));
        edges.add(frame(Area.RING, 0, new byte[Frame.MAX_PAYLOAD + 1], -1, 0, 0));
        return edges.stream().map(each -> Arrays.copyOf(each, Frame.HEADER_BYTES)).toList();
    }

    private static FuzzTarget header() {
        SharedMemory memory = SharedMemory.anonymous(Frame.HEADER_BYTES);
        return new FuzzTarget(
                "frame-header",
                1,
                edges(),
                input -> {
                    byte[] header = Arrays.copyOf(input, Frame.HEADER_BYTES);
                    Memory.copyIn(header, 0, memory.address(), header.length);
                    Frame.validate(memory.address(), RANKS, PEER);
                    requireInside(memory.address());
                    return "valid";
                },
                Set.of("valid"),
                REFUSALS);
    }

    /** Calculates independently that a frame which was let through writes inside the mirror. */
    private static void requireInside(long at) {
        long size = Frame.area(at).sizeBytes(RANKS);
        long end = Math.addExact(Frame.offset(at), Frame.length(at));
        boolean payload = Frame.offset(at) >= 0 && Frame.length(at) >= 0 && end <= size;
        long flag = Frame.flagOffset(at);
        boolean inBase = flag >= 128 && flag + 8 <= RegionLayout.baseBytes(RANKS) && flag % 8 == 0;
        payload &= Frame.length(at) <= Frame.MAX_PAYLOAD;
        if (!payload || !(flag == -1 || inBase)) {
            throw new AssertionError("it writes outside");
        }
    }

    private static FuzzTarget stream() {
        byte[] two = joined(frames().get(0), frames().get(2));
        return new FuzzTarget(
                "frame-stream",
                200,
                List.of(frames().get(0), frames().get(1), two),
                NetTargets::receive,
                Set.of("all was stored", "ended within a frame"),
                REFUSALS);
    }

    private static String receive(byte[] input) {
        int[] pair = pair();
        try (Region mirror = Region.mirror(RANKS, PEER);
                SharedMemory bytes = SharedMemory.anonymous(Math.max(1, input.length));
                NetLink link = new NetLink(pair[1], RANKS, mirror)) {
            Memory.copyIn(input, 0, bytes.address(), input.length);
            if (Sockets.send(pair[0], bytes.address(), input.length) != input.length) {
                throw new AssertionError("the socket does not take it");
            }
            Sockets.shutdown(pair[0]);
            while (link.ended() == null) {
                Sockets.pollOne(link.descriptor(), Sockets.POLLIN, 1000);
                link.receive();
            }
            return isWhole(input) ? "all was stored" : "ended within a frame";
        } finally {
            Sockets.close(pair[0]);
        }
    }

    private static boolean isWhole(byte[] input) {
        int at = 0;
        try (SharedMemory memory = SharedMemory.anonymous(Frame.HEADER_BYTES)) {
            while (input.length - at >= Frame.HEADER_BYTES) {
                Memory.copyIn(input, at, memory.address(), Frame.HEADER_BYTES);
                at += Frame.HEADER_BYTES + Frame.length(memory.address());
            }
        }
        return at == input.length;
    }

    private static int[] pair() {
        int door = Sockets.socket(false);
        int from = Sockets.socket(false);
        try {
            Sockets.bind(door, SocketAddress.parse("127.0.0.1:0"));
            Sockets.listen(door, 1);
            Sockets.connect(from, Sockets.localAddress(door));
            Sockets.pollOne(door, Sockets.POLLIN, 60_000);
            int to = Sockets.accept(door);
            if (to < 0) {
                throw new AssertionError("accept: " + to);
            }
            Sockets.pollOne(from, Sockets.POLLOUT, 60_000);
            return new int[] {from, to};
        } finally {
            Sockets.close(door);
        }
    }

    private static byte[] joined(byte[] one, byte[] other) {
        byte[] both = Arrays.copyOf(one, one.length + other.length);
        System.arraycopy(other, 0, both, one.length, other.length);
        return both;
    }
}
