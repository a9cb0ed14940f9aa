package org.jccl.plan;

import org.jccl.schedule.Ref;
import org.jccl.schedule.Schedule;
import org.jccl.schedule.Shape;
import org.jccl.schedule.Space;
import org.jccl.schedule.Step;
import org.jccl.transport.Frame;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Compiles one rank's schedule for the transports to its peers: what node mates read becomes one
 * copy into the own area, what goes over TCP becomes a frame for each reader, with the flag in the
 * last frame before the signal.
 *
 * <p>A frame is sent from the caller's buffer some time after it was posted; where the plan is
 * about to overwrite such a buffer, the compiler inserts a flush.
 */
final class PlanCompiler {
    private static final int NO_FLAG = -1;

    /** Bytes of a buffer out of which frames may still have to be sent. */
    private record Span(long from, long to) {}

    private final Schedule schedule;
    private final Shape shape;
    private final boolean[] net;
    private final int rank;
    private final int nRanks;
    private final LongList code = new LongList();
    private final LongList args = new LongList();
    private final int[] unflaggedPut;
    private final boolean[] addressed;
    private final boolean[] heard;
    private final Map<Integer, List<Span>> pending = new HashMap<>();
    private int mergeableCopy = -1;
    private boolean usesArea;
    private boolean usesRing;
    private boolean publishesTiny;
    private long mateBytes;
    private long netBytes;

    private PlanCompiler(Schedule schedule, Shape shape, boolean[] net) {
        this.schedule = schedule;
        this.shape = shape;
        this.net = net;
        this.rank = schedule.rank();
        this.nRanks = schedule.nRanks();
        this.unflaggedPut = new int[nRanks];
        this.addressed = new boolean[nRanks];
        this.heard = new boolean[nRanks];
        Arrays.fill(unflaggedPut, -1);
    }

    /**
     * Compiles a schedule.
     *
     * @param net by rank, whether it is reached over TCP
     * @param copiesInput whether the call gives a copy of its input
     */
    static Plan compile(Schedule schedule, Shape shape, boolean[] net, boolean copiesInput) {
        return new PlanCompiler(schedule, shape, net).compile(copiesInput);
    }

    private Plan compile(boolean copiesInput) {
        for (Step step : schedule.steps()) {
            emit(step);
        }
        boolean anyNetPeer = false;
        boolean hearsAll = true;
        LongList announce = new LongList();
        for (int q = 0; q < nRanks; q++) {
            anyNetPeer |= net[q];
            hearsAll &= q == rank || heard[q];
            if (q != rank && net[q] && (usesRing || !addressed[q])) {
                announce.add(q);
            }
        }
        if (anyNetPeer) {
            code.add(OpCode.NET_FLUSH);
        }
        code.add(OpCode.END);
        return new Plan(
                announce.toInts(),
                code.toInts(),
                args.toArray(),
                schedule.sequenceNumbers(),
                usesArea,
                usesRing,
                publishesTiny,
                hearsAll,
                copiesInput,
                mateBytes,
                netBytes);
    }

    private void emit(Step step) {
        switch (step) {
            case Step.Put put -> put(put);
            case Step.Signal signal -> signal(signal);
            case Step.Wait wait -> {
                heard[wait.rank()] = true;
                emitBarrier(OpCode.WAIT, wait.rank(), wait.flag(), wait.delta());
            }
            case Step.Fold fold -> fold(fold);
            case Step.Copy copy -> {
                flushBefore(copy.dst(), copy.length());
                if (copy.pulls(rank)) {
                    pull(copy);
                } else {
                    copy(copy.dst(), copy.src(), copy.length());
                }
            }
            case Step.TinyPut put -> tinyPut(put);
            case Step.TinyFold fold -> {
                Arrays.fill(heard, true);
                int a = args.add(fold.dst().offset(), fold.length(), fold.src().offset());
                emitBarrier(OpCode.TINY_FOLD, buffer(fold.dst()), buffer(fold.src()), a);
            }
            case Step.TinyCopy copy -> {
                heard[copy.rank()] = true;
                int a = args.add(copy.dst().offset(), copy.length(), copy.from(), copy.message());
                emitBarrier(OpCode.TINY_COPY, buffer(copy.dst()), copy.rank(), a);
            }
        }
    }

    private void put(Step.Put put) {
        boolean mates = false;
        for (int q : put.readers()) {
            addressed[q] = true;
            if (net[q]) {
                netPut(q, put);
            } else {
                mates = true;
                mateBytes += put.length();
            }
        }
        touch(put.dst());
        if (mates && !put.src().equals(put.dst())) {
            flushBefore(put.dst(), put.length());
            copy(put.dst(), put.src(), put.length());
        }
    }

    private void netPut(int q, Step.Put put) {
        int src = buffer(put.src());
        int dst = buffer(put.dst());
        for (long done = 0; done < put.length(); done += Frame.MAX_PAYLOAD) {
            long length = Math.min(Frame.MAX_PAYLOAD, put.length() - done);
            int a = args.add(put.dst().offset() + done, put.src().offset() + done, length);
            unflaggedPut[q] = code.size();
            emitBarrier(OpCode.NET_PUT, q, src, dst, NO_FLAG, 0, a);
        }
        netBytes += put.length();
        Span span = new Span(put.src().offset(), put.src().offset() + put.length());
        List<Span> spans = pending.computeIfAbsent(src, buffer -> new ArrayList<>());
        if (spans.isEmpty() || !spans.getLast().equals(span)) {
            spans.add(span);
        }
    }

    private void signal(Step.Signal signal) {
        boolean mates = false;
        for (int q : signal.readers()) {
            addressed[q] = true;
            if (!net[q]) {
                mates = true;
                continue;
            }
            if (unflaggedPut[q] >= 0) {
                code.set(unflaggedPut[q] + 4, signal.flag());
                code.set(unflaggedPut[q] + 5, signal.delta());
                unflaggedPut[q] = -1;
            } else {
                emitBarrier(OpCode.NET_SIGNAL, q, signal.flag(), signal.delta());
            }
        }
        if (mates) {
            emitBarrier(OpCode.SIGNAL, signal.flag(), signal.delta());
        }
    }

    private void fold(Step.Fold fold) {
        flushBefore(fold.dst(), fold.length());
        int a = args.add(fold.dst().offset(), fold.length());
        mergeableCopy = -1;
        boolean whole = fold.last() && fold.sources().size() == nRanks;
        int opcode = whole ? OpCode.FOLD : OpCode.FOLD_PART;
        code.add(opcode, buffer(fold.dst()), a, fold.sources().size());
        for (Ref source : fold.sources()) {
            touch(source);
            code.add(buffer(source), args.add(source.offset()));
        }
        touch(fold.dst());
        if (fold.last() && !whole) {
            emitBarrier(OpCode.DIVIDE, buffer(fold.dst()), a);
        }
    }

    private void pull(Step.Copy copy) {
        Ref src = copy.src();
        touch(copy.dst());
        int output = src.space() == Space.OUT ? 1 : 0;
        int a = args.add(copy.dst().offset(), src.offset(), copy.length());
        emitBarrier(OpCode.PULL, buffer(copy.dst()), src.rank(), output, a);
        mateBytes += copy.length();
    }

    private void tinyPut(Step.TinyPut put) {
        publishesTiny = true;
        emitBarrier(OpCode.TINY_PUT, buffer(put.src()), args.add(put.src().offset(), put.length()));
        for (int q : put.readers()) {
            addressed[q] = true;
            if (net[q]) {
                netBytes += put.length();
                emitBarrier(OpCode.NET_TINY, q, args.add(put.length()));
            } else {
                mateBytes += put.length();
            }
        }
    }

    private void copy(Ref dst, Ref src, long length) {
        touch(dst);
        touch(src);
        int to = buffer(dst);
        int from = buffer(src);
        if (mergeableCopy >= 0
                && code.get(mergeableCopy + 1) == to
                && code.get(mergeableCopy + 2) == from) {
            int a = (int) code.get(mergeableCopy + 3);
            long end = args.get(a + 2);
            if (args.get(a) + end == dst.offset() && args.get(a + 1) + end == src.offset()) {
                args.set(a + 2, end + length);
                return;
            }
        }
        int at = code.size();
        emitBarrier(OpCode.COPY, to, from, args.add(dst.offset(), src.offset(), length));
        mergeableCopy = at;
    }

    private void emitBarrier(long... words) {
        mergeableCopy = -1;
        code.add(words);
    }

    private void touch(Ref ref) {
        usesRing |= ref.space() == Space.RING;
        usesArea |= ref.space() == Space.RING || ref.space() == Space.DIRECT;
    }

    private int buffer(Ref ref) {
        return switch (ref.space()) {
            case IN -> Plan.IN;
            case OUT -> Plan.OUT;
            case SMALL -> Plan.FIRST_AREA + ref.rank();
            case DIRECT -> Plan.FIRST_AREA + nRanks + ref.rank();
            case RING -> Plan.FIRST_AREA + 2 * nRanks + ref.rank();
        };
    }

    /**
     * Inserts a flush if waiting frames are still to be sent out of what is about to be written.
     */
    private void flushBefore(Ref dst, long length) {
        int to = buffer(dst);
        for (Map.Entry<Integer, List<Span>> ofBuffer : pending.entrySet()) {
            long shift = shift(to, ofBuffer.getKey());
            if (shift == Long.MIN_VALUE) {
                continue;
            }
            long from = dst.offset() + shift;
            for (Span span : ofBuffer.getValue()) {
                if (from < span.to && from + length > span.from) {
                    emitBarrier(OpCode.NET_FLUSH);
                    pending.clear();
                    return;
                }
            }
        }
    }

    /**
     * The offset of a byte in {@code buffer} less the offset of the same byte in {@code to};
     * MIN_VALUE if they have no byte in common.
     */
    private long shift(int to, int buffer) {
        if (to == buffer) {
            return 0;
        }
        if (!shape.inPlace() || to > Plan.OUT || buffer > Plan.OUT) {
            return Long.MIN_VALUE;
        }
        long distance = shape.operation().inPlaceDistance(shape.bytes(), rank);
        return to == Plan.OUT ? -distance : distance;
    }
}
