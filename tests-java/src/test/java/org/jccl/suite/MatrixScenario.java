package org.jccl.suite;

import org.jccl.Collectives;
import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.Group;
import org.jccl.device.UsedDevice;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.oracle.Oracle;
import org.jccl.type.DataType;
import org.jccl.type.Operation;
import org.jccl.type.RedOp;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.zip.CRC32C;

/**
 * Runs cells of the matrix on one communicator and compares each with the oracle. Arguments: the
 * seed; how many cells, or 0 for all; how many large ones; on how many nodes the ranks are; the
 * only size, or 0 for any; how many more cells at each alignment of the buffers, 0 for many, or -1;
 * which part of all cells, as 0/1, or 3/4 for the last of four; whether the ranks are on devices.
 *
 * <p>Where every rank's result is the same, rank 0 compares with the oracle and the others with
 * rank 0, by a checksum that they say.
 */
public final class MatrixScenario implements Scenario {
    /** Larger reductions of several nodes with several ranks are folded node by node. */
    private static final int BY_NODE_BYTES = 16384;

    /** So are all all-reduces where there are so many ranks on other nodes than the smallest. */
    private static final int RELAYED_MESSAGES = 4;

    /** The bytes of a cache line, and of the widest vector. */
    private static final int ALIGNMENTS = 64;

    /** The factors are not multiples of each other: buffers meet at all distances. */
    private static final int OUT_FACTOR = 29;

    private static final int RANK_FACTOR = 13;
    private static final int ANY = -1;

    private static final Inputs INPUTS = new Inputs();

    private final CRC32C results = new CRC32C();
    private int me;
    private int nRanks;
    private int nNodes;
    private int done;

    @Override
    public void run(Rank rank) {
        me = rank.number();
        nRanks = rank.nRanks();
        nNodes = rank.intArgument(3);
        long seed = Long.parseLong(rank.argument(0));
        int count = rank.intArgument(1);
        List<MatrixCase> cases =
                count > 0
                        ? MatrixCase.sample(seed, count, rank.intArgument(2))
                        : part(MatrixCase.ofSize(rank.intArgument(4)), rank.argument(6));
        boolean onDevices = Boolean.parseBoolean(rank.argument(7));
        String where = onDevices ? UsedDevice.number(me).name() : "host";
        try (Communicator comm = rank.init(Config.DEFAULT.withDevice(where));
                Place place = Place.of(comm)) {
            for (int i = 0; i < cases.size(); i++) {
                run(comm, place, cases.get(i), seed + i, ANY);
            }
            int more = rank.intArgument(5);
            for (int shift = 0; shift < ALIGNMENTS && more >= 0; shift++) {
                List<MatrixCase> each = MatrixCase.inTurn(shift, seed, more);
                for (int i = 0; i < each.size(); i++) {
                    run(comm, place, each.get(i), seed + i, shift);
                }
            }
            rank.say(done + " cells, checksum " + results.getValue());
        }
    }

    /** Cells in and out of place are neighbours, and stay together. */
    private static List<MatrixCase> part(List<MatrixCase> all, String part) {
        String[] words = part.split("/");
        int which = Integer.parseInt(words[0]);
        int parts = Integer.parseInt(words[1]);
        return IntStream.range(0, all.size())
                .filter(i -> i / 2 % parts == which)
                .mapToObj(all::get)
                .toList();
    }

    private void run(Communicator comm, Place place, MatrixCase cell, long seed, int shift) {
        Random random = new Random(seed * 31 + me);
        int outShift = shift == ANY ? ANY : OUT_FACTOR * shift + 1;
        int elementBytes = cell.type().sizeBytes();
        long inBytes = (long) cell.inputCount(nRanks) * elementBytes;
        long outBytes = (long) cell.outputCount(nRanks) * elementBytes;
        int inShift = shift(shift, random);
        try (Arena arena = Arena.ofConfined()) {
            GuardedBuffer in = GuardedBuffer.allocate(arena, place, inBytes, inShift);
            outShift = shift(outShift, random);
            GuardedBuffer out = GuardedBuffer.allocate(arena, place, outBytes, outShift);
            runCase(comm, cell, seed, in, out);
            in.release();
            out.release();
            done++;
        } catch (RuntimeException | AssertionError e) {
            throw new AssertionError(
                    cell + " with seed " + seed + " and shift " + shift + " on rank " + me, e);
        }
    }

    private void runCase(
            Communicator comm, MatrixCase cell, long seed, GuardedBuffer in, GuardedBuffer out) {
        int partBytes = cell.count(nRanks) * cell.type().sizeBytes();
        int root = new Random(seed).nextInt(nRanks);
        byte[] input = inputOf(cell, seed, me);
        long from = (long) me * partBytes;
        GuardedBuffer send = in;
        GuardedBuffer recv = out;
        if (cell.inPlace() && in.bytes() < out.bytes()) {
            send = out.part(from, partBytes);
        } else if (cell.inPlace()) {
            recv = in.bytes() > out.bytes() ? in.part(from, partBytes) : in;
        }
        boolean receives =
                cell.operation() == Operation.SEND || cell.operation().receives(me, root);
        MemorySegment.copy(input, 0, send.content(), ValueLayout.JAVA_BYTE, 0, input.length);
        byte[] before = receives ? new byte[0] : recv.bytesNow();
        in.give();
        out.give();
        Collectives stream = comm.inStream(in.place().stream());
        call(stream, cell, send.forCalls(), recv.forCalls(), root);
        in.place().await();
        in.take();
        out.take();
        in.checkGuards();
        out.checkGuards();
        if (!cell.inPlace()) {
            require(Arrays.equals(input, send.bytesNow()), "the input was changed");
        } else if (in.bytes() > out.bytes()) {
            byte[] others = send.bytesNow();
            System.arraycopy(input, (int) from, others, (int) from, partBytes);
            require(Arrays.equals(input, others), "the input outside the result was changed");
        }
        if (receives) {
            checkResult(cell, seed, root, recv.bytesNow());
        } else {
            require(Arrays.equals(before, recv.bytesNow()), "not the root's");
        }
    }

    /** By how much a buffer of this rank is shifted; with ANY, half of them are not. */
    private int shift(int shift, Random random) {
        if (shift == ANY) {
            return random.nextBoolean() ? 0 : random.nextInt(ALIGNMENTS);
        }
        return (shift + RANK_FACTOR * me) % ALIGNMENTS;
    }

    private void call(
            Collectives comm, MatrixCase cell, MemorySegment in, MemorySegment out, int root) {
        long count = cell.count(nRanks);
        DataType type = cell.type();
        switch (cell.operation()) {
            case ALL_REDUCE -> comm.allReduce(in, out, count, type, cell.op());
            case REDUCE_SCATTER -> comm.reduceScatter(in, out, count, type, cell.op());
            case BROADCAST -> comm.broadcast(in, out, count, type, root);
            case ALL_GATHER -> comm.allGather(in, out, count, type);
            case REDUCE -> comm.reduce(in, out, count, type, cell.op(), root);
            case ALL_TO_ALL -> comm.allToAll(in, out, count, type);
            case GATHER -> comm.gather(in, out, count, type, root);
            case SCATTER -> comm.scatter(in, out, count, type, root);
            default ->
                    Group.run(
                            () -> {
                                comm.send(in, count, type, (me + 1) % nRanks);
                                comm.recv(out, count, type, (me + nRanks - 1) % nRanks);
                            });
        }
    }

    private void checkResult(MatrixCase cell, long seed, int root, byte[] output) {
        DataType type = cell.type();
        boolean sameEverywhere =
                switch (cell.operation()) {
                    case ALL_REDUCE, BROADCAST, ALL_GATHER -> true;
                    default -> false;
                };
        if (sameEverywhere) {
            byte[] said = output.clone();
            canonical(type, said);
            results.update(said, 0, said.length);
            if (me != 0) {
                return;
            }
        }
        byte[] expected = expected(cell, seed, root);
        if (cell.operation().reduces()) {
            String difference = Oracle.difference(type, expected, output);
            require(difference == null, "wrong result: " + difference);
        } else {
            int wrong = Arrays.mismatch(expected, output);
            require(wrong < 0, "wrong byte " + wrong + " of " + output.length);
        }
    }

    private byte[] expected(MatrixCase cell, long seed, int root) {
        return switch (cell.operation()) {
            case BROADCAST -> inputOf(cell, seed, root);
            case SEND -> inputOf(cell, seed, (me + nRanks - 1) % nRanks);
            case ALL_GATHER, GATHER -> gathered(cell, seed, 0);
            case ALL_TO_ALL -> gathered(cell, seed, me);
            case SCATTER -> part(cell, inputOf(cell, seed, root), me);
            default -> folded(cell, seed);
        };
    }

    /** This part of every rank's input. */
    private byte[] gathered(MatrixCase cell, long seed, int part) {
        int partBytes = cell.count(nRanks) * cell.type().sizeBytes();
        byte[] all = new byte[partBytes * nRanks];
        for (int rank = 0; rank < nRanks; rank++) {
            byte[] own = part(cell, inputOf(cell, seed, rank), part);
            System.arraycopy(own, 0, all, rank * partBytes, partBytes);
        }
        return all;
    }

    private byte[] part(MatrixCase cell, byte[] all, int part) {
        int partBytes = cell.count(nRanks) * cell.type().sizeBytes();
        return Arrays.copyOfRange(all, part * partBytes, (part + 1) * partBytes);
    }

    private byte[] folded(MatrixCase cell, long seed) {
        int partBytes = cell.count(nRanks) * cell.type().sizeBytes();
        int from = cell.operation() == Operation.REDUCE_SCATTER ? me * partBytes : 0;
        byte[][] inputs = new byte[nRanks][];
        for (int rank = 0; rank < nRanks; rank++) {
            byte[] all = inputOf(cell, seed, rank);
            inputs[rank] = Arrays.copyOfRange(all, from, from + partBytes);
        }
        boolean byNode = cell.inputCount(nRanks) * cell.type().sizeBytes() > BY_NODE_BYTES;
        int[] nodeOf = IntStream.range(0, nRanks).map(r -> r * nNodes / nRanks).toArray();
        if (cell.operation() == Operation.ALL_REDUCE) {
            IntStream sizes = IntStream.range(0, nNodes).map(h -> count(nodeOf, h));
            byNode |= nRanks - sizes.min().orElse(0) >= RELAYED_MESSAGES;
        }
        byNode &= cell.operation() != Operation.REDUCE;
        if (byNode && nNodes > 1 && nNodes < nRanks && !keepsRankOrder(cell)) {
            return Oracle.foldByNode(cell.type(), cell.op(), inputs, nodeOf);
        }
        return Oracle.fold(cell.type(), cell.op(), inputs);
    }

    private static int count(int[] nodeOf, int node) {
        return (int) IntStream.of(nodeOf).filter(h -> h == node).count();
    }

    private static boolean keepsRankOrder(MatrixCase cell) {
        boolean isExtreme = cell.op() == RedOp.MAX || cell.op() == RedOp.MIN;
        return switch (cell.type()) {
            case FLOAT16 -> cell.op() == RedOp.AVG || cell.op() == RedOp.PROD;
            case FLOAT8E4M3, FLOAT8E5M2 -> !isExtreme;
            default -> false;
        };
    }

    private byte[] inputOf(MatrixCase cell, long seed, int rank) {
        return INPUTS.of(new Input(cell, nRanks, seed * 64 + rank));
    }

    /** What the bytes of an input follow from. */
    private record Input(MatrixCase cell, int nRanks, long seed) {
        byte[] draw() {
            Random random = new Random(seed);
            return Oracle.randomInput(cell.type(), cell.op(), cell.inputCount(nRanks), random);
        }
    }

    /** The inputs of the present cell, which the ranks of a process need several times each. */
    private static final class Inputs extends LinkedHashMap<Input, byte[]> {
        private static final long serialVersionUID = 1;
        private static final int MOST = 16;

        synchronized byte[] of(Input input) {
            return computeIfAbsent(input, Input::draw);
        }

        @Override
        protected boolean removeEldestEntry(Map.Entry<Input, byte[]> eldest) {
            return size() > MOST;
        }
    }

    /** Makes all NaNs one, since any NaN equals any NaN. */
    private static void canonical(DataType type, byte[] bytes) {
        ByteBuffer elements = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        for (int at = 0; at < bytes.length; at += type.sizeBytes()) {
            switch (type) {
                case FLOAT16 -> canonicalShort(elements, at, 0x7C00);
                case BFLOAT16 -> canonicalShort(elements, at, 0x7F80);
                case FLOAT32 -> elements.putInt(at, Float.floatToIntBits(elements.getFloat(at)));
                case FLOAT64 ->
                        elements.putLong(at, Double.doubleToLongBits(elements.getDouble(at)));
                case FLOAT8E4M3 -> canonicalByte(elements, at, 0x7E);
                case FLOAT8E5M2 -> canonicalByte(elements, at, 0x7C);
                default -> {}
            }
        }
    }

    private static void canonicalShort(ByteBuffer elements, int at, int infinity) {
        if ((elements.getShort(at) & 0x7FFF) > infinity) {
            elements.putShort(at, (short) 0x7FFF);
        }
    }

    private static void canonicalByte(ByteBuffer elements, int at, int beforeNan) {
        if ((elements.get(at) & 0x7F) > beforeNan) {
            elements.put(at, (byte) 0x7F);
        }
    }

    private static void require(boolean condition, String sentence) {
        if (!condition) {
            throw new AssertionError(sentence);
        }
    }
}
