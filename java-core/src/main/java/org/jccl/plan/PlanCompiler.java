package org.jccl.plan;

import org.jccl.schedule.Ref;
import org.jccl.schedule.Schedule;
import org.jccl.schedule.Shape;
import org.jccl.schedule.Space;
import org.jccl.schedule.Step;
import org.jccl.transport.Frame;

import java.util.BitSet;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;

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
    private static final int COPY_WORDS = 4;

    /** Bytes of a buffer. What is in place is a part of the input. */
    private record Span(int buffer, long from, long to) {}

    private final Schedule schedule;
    private final Shape shape;
    private final boolean[] net;
    private final int rank;
    private final int nRanks;
    private final LongList code = new LongList();
    private final LongList args = new LongList();

    /** By rank, where the last frame for it begins if no flag has followed. */
    private final Map<Integer, Integer> unflaggedPuts = new HashMap<>();

    private final BitSet addressed = new BitSet();
    private final BitSet heard = new BitSet();
    private final Set<Space> touched = EnumSet.noneOf(Space.class);

    /** By buffer, what frames may still have to be sent out of. */
    private final Map<Integer, Spans> pending = new HashMap<>();

    /** Where the last copy begins. */
    private int lastCopy = -1;

    private boolean pulls;

    private boolean publishesTiny;
    private long mateBytes;
    private long netBytes;

    private PlanCompiler(Schedule schedule, Shape shape, boolean[] net) {
        this.schedule = schedule;
        this.shape = shape;
        this.net = net;
        this.rank = schedule.rank();
        this.nRanks = schedule.nRanks();
    }

    /**
     * Compiles a schedule.
     *
     * @param net by rank, whether it is reached over TCP
     * @param copiesInput whether the call gives a copy of its input
     */
    static Plan compile(Schedule schedule, Shape shape, boolean[] net, boolean copiesInput) {
        PlanCompiler compiler = new PlanCompiler(schedule, shape, net);
        schedule.steps().forEach(compiler::emit);
        return compiler.plan(copiesInput);
    }

    private Plan plan(boolean copiesInput) {
        boolean usesRing = touched.contains(Space.RING);
        int[] far = IntStream.range(0, nRanks).filter(q -> net[q]).toArray();
        if (far.length > 0) {
            code.add(OpCode.NET_FLUSH);
        }
        code.add(OpCode.END);
        heard.set(rank);
        boolean concernsAll = schedule.steps().isEmpty();
        int[] partners =
                IntStream.of(far)
                        .filter(q -> concernsAll || addressed.get(q) || heard.get(q))
                        .toArray();
        return new Plan(
                partners,
                IntStream.of(partners).filter(q -> usesRing || !addressed.get(q)).toArray(),
                code.toInts(),
                args.toArray(),
                schedule.sequenceNumbers(),
                usesRing || touched.contains(Space.DIRECT),
                usesRing,
                publishesTiny,
                heard.cardinality() == nRanks,
                far.length > 0 || pulls,
                copiesInput,
                shape.elementBytes(),
                shape.inBytes(),
                shape.outBytes(),
                shape.operation().inPlaceDistance(shape.bytes(), rank),
                mateBytes,
                netBytes);
    }

    private void emit(Step step) {
        switch (step) {
            case Step.Put put -> put(put);
            case Step.Signal signal -> signal(signal);
            case Step.Wait wait -> {
                heard.set(wait.rank());
                code.add(OpCode.WAIT, wait.rank(), wait.flag(), wait.delta());
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
                heard.set(0, nRanks);
                int a = args.add(fold.dst().offset(), fold.length(), fold.src().offset());
                code.add(OpCode.TINY_FOLD, buffer(fold.dst()), buffer(fold.src()), a);
            }
            case Step.TinyCopy copy -> {
                heard.set(copy.rank());
                int a = args.add(copy.dst().offset(), copy.length(), copy.from(), copy.message());
                code.add(OpCode.TINY_COPY, buffer(copy.dst()), copy.rank(), a);
            }
            case Step.Loop loop -> loop(loop);
            case Step.Header header -> code.add(OpCode.HEADER, buffer(header.dst()));
            case Step.Match match -> code.add(OpCode.MATCH, buffer(match.src()));
        }
    }

    /**
     * No signal in a loop completes a put before it, and no signal behind it a put in it: the flag
     * would go out in every round.
     */
    private void loop(Step.Loop loop) {
        int start = code.size();
        int a = args.add(loop.chunkBytes());
        unflaggedPuts.clear();
        code.add(OpCode.ROUND, a);
        loop.body().forEach(this::emit);
        code.add(OpCode.LOOP, start, a);
        unflaggedPuts.clear();
    }

    private void put(Step.Put put) {
        boolean mates = false;
        for (int q : put.readers()) {
            addressed.set(q);
            if (net[q]) {
                netPut(q, put);
            } else {
                mates = true;
                mateBytes += put.length();
            }
        }
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
            unflaggedPuts.put(q, code.size());
            code.add(OpCode.NET_PUT, q, src, dst, NO_FLAG, 0, a);
        }
        netBytes += put.length();
        Span sent = span(put.src(), put.length());
        pending.computeIfAbsent(sent.buffer, buffer -> new Spans()).add(sent.from, sent.to);
    }

    private void signal(Step.Signal signal) {
        boolean mates = false;
        for (int q : signal.readers()) {
            addressed.set(q);
            if (!net[q]) {
                mates = true;
                continue;
            }
            Integer put = unflaggedPuts.remove(q);
            if (put != null) {
                code.set(put + 4, signal.flag());
                code.set(put + 5, signal.delta());
            } else {
                code.add(OpCode.NET_SIGNAL, q, signal.flag(), signal.delta());
            }
        }
        if (mates) {
            code.add(OpCode.SIGNAL, signal.flag(), signal.delta());
        }
    }

    private void fold(Step.Fold fold) {
        flushBefore(fold.dst(), fold.length());
        int a = args.add(fold.dst().offset(), fold.length());
        boolean whole = fold.last() && fold.sources().size() == nRanks;
        int opcode = whole ? OpCode.FOLD : OpCode.FOLD_PART;
        code.add(opcode, buffer(fold.dst()), a, fold.sources().size());
        for (Ref source : fold.sources()) {
            code.add(buffer(source), args.add(source.offset()));
        }
        if (fold.last() && !whole) {
            code.add(OpCode.DIVIDE, buffer(fold.dst()), a);
        }
    }

    private void pull(Step.Copy copy) {
        Ref src = copy.src();
        pulls = true;
        int a = args.add(copy.dst().offset(), src.offset(), copy.length());
        code.add(OpCode.PULL, buffer(copy.dst()), src.rank(), a);
        mateBytes += copy.length();
    }

    private void tinyPut(Step.TinyPut put) {
        publishesTiny = true;
        code.add(OpCode.TINY_PUT, buffer(put.src()), args.add(put.src().offset(), put.length()));
        for (int q : put.readers()) {
            addressed.set(q);
            if (net[q]) {
                netBytes += put.length();
                code.add(OpCode.NET_TINY, q, args.add(put.length()));
            } else {
                mateBytes += put.length();
            }
        }
    }

    private void copy(Ref dst, Ref src, long length) {
        int to = buffer(dst);
        int from = buffer(src);
        boolean follows = lastCopy >= 0 && lastCopy + COPY_WORDS == code.size();
        if (follows && code.get(lastCopy + 1) == to && code.get(lastCopy + 2) == from) {
            int a = (int) code.get(lastCopy + 3);
            long end = args.get(a + 2);
            if (args.get(a) + end == dst.offset() && args.get(a + 1) + end == src.offset()) {
                args.set(a + 2, end + length);
                return;
            }
        }
        int a = args.add(dst.offset(), src.offset(), length);
        lastCopy = code.add(OpCode.COPY, to, from, a);
    }

    private int buffer(Ref ref) {
        touched.add(ref.space());
        return switch (ref.space()) {
            case IN -> Plan.IN;
            case OUT -> Plan.OUT;
            case SMALL -> Plan.FIRST_AREA + ref.rank();
            case DIRECT -> Plan.FIRST_AREA + nRanks + ref.rank();
            case RING -> Plan.FIRST_AREA + 2 * nRanks + ref.rank();
            case FIFO -> Plan.FIFO;
        };
    }

    private Span span(Ref ref, long length) {
        int buffer = buffer(ref);
        long from = ref.offset();
        if (buffer == Plan.OUT && shape.inPlace()) {
            buffer = Plan.IN;
            from -= shape.operation().inPlaceDistance(shape.bytes(), rank);
        }
        return new Span(buffer, from, from + length);
    }

    /**
     * Inserts a flush if waiting frames are still to be sent out of what is about to be written.
     */
    private void flushBefore(Ref dst, long length) {
        Span written = span(dst, length);
        Spans sent = pending.get(written.buffer);
        if (sent != null && sent.overlap(written.from, written.to)) {
            code.add(OpCode.NET_FLUSH);
            pending.clear();
        }
    }
}
