package org.jccl.schedule;

import org.jccl.schedule.Step.Copy;
import org.jccl.schedule.Step.Fold;
import org.jccl.schedule.Step.Header;
import org.jccl.schedule.Step.Loop;
import org.jccl.schedule.Step.Match;
import org.jccl.schedule.Step.Put;
import org.jccl.schedule.Step.Signal;
import org.jccl.schedule.Step.TinyCopy;
import org.jccl.schedule.Step.TinyFold;
import org.jccl.schedule.Step.TinyPut;
import org.jccl.schedule.Step.Wait;
import org.jccl.transport.RegionLayout;

/** The buffers and areas of a call, which no step of a schedule may leave. */
public final class Bounds {
    private final Shape shape;
    private final int rank;
    private final long inBytes;
    private final long outBytes;

    private Bounds(Shape shape, int rank, long inBytes, long outBytes) {
        this.shape = shape;
        this.rank = rank;
        this.inBytes = inBytes;
        this.outBytes = outBytes;
    }

    /**
     * Checks that a schedule keeps to the {@link Rules}, and that no step leaves the buffers and
     * areas of {@code shape}, whose memory is raw: a wrong offset would end the process instead of
     * raising an exception.
     *
     * @throws IllegalArgumentException naming the step
     */
    public static void require(Schedule schedule, Shape shape) {
        if (shape.nRanks() != schedule.nRanks()) {
            throw new IllegalArgumentException(schedule.nRanks() + " ranks against " + shape);
        }
        Rules.require(schedule);
        Bounds bounds = new Bounds(shape, schedule.rank(), shape.inBytes(), shape.outBytes());
        for (Step step : schedule.steps()) {
            if (!bounds.hold(step)) {
                throw new IllegalArgumentException(step + " is outside of " + shape);
            }
        }
    }

    private boolean hold(Step step) {
        return switch (step) {
            case Put put -> fits(put.src(), put.length()) && fits(put.dst(), put.length());
            case Signal signal -> signal.flag() < RegionLayout.FLAG_COUNT;
            case Wait wait -> wait.flag() < RegionLayout.FLAG_COUNT;
            case Fold fold ->
                    fits(fold.dst(), fold.length())
                            && fold.length() % shape.elementBytes() == 0
                            && fold.sources().stream().allMatch(s -> fits(s, fold.length()));
            case Copy copy ->
                    fits(copy.dst(), copy.length())
                            && fits(copy.src(), copy.length())
                            && readable(copy.src());
            case TinyPut put -> fits(put.src(), put.length()) && tiny(put.length());
            case TinyFold fold ->
                    fits(fold.dst(), fold.length())
                            && fits(fold.src(), fold.length())
                            && tiny(fold.length());
            case TinyCopy copy -> fits(copy.dst(), copy.length()) && tiny(copy.message());
            case Loop loop -> {
                Bounds chunk = new Bounds(shape, rank, loop.chunkBytes(), loop.chunkBytes());
                yield loop.body().stream().allMatch(chunk::hold);
            }
            case Header header -> fits(header.dst(), Limits.HEADER_BYTES);
            case Match match -> fits(match.src(), Limits.HEADER_BYTES);
        };
    }

    private boolean readable(Ref src) {
        Nodes nodes = shape.nodes();
        return src.rank() == rank
                || src.space().isArea()
                || (src.space() == Space.IN
                        && nodes.readable()
                        && nodes.of(rank) == nodes.of(src.rank()));
    }

    private boolean fits(Ref ref, long length) {
        long size =
                switch (ref.space()) {
                    case IN -> inBytes;
                    case OUT -> outBytes;
                    case SMALL -> shape.limits().smallBytes();
                    case DIRECT -> shape.limits().directBytes();
                    case RING -> ringBytes(shape.limits());
                    case FIFO -> Limits.HEADER_BYTES + shape.limits().chunkBytes();
                };
        return ref.offset() >= 0 && ref.offset() <= size && length <= size - ref.offset();
    }

    private boolean tiny(long length) {
        return length <= shape.limits().tinyBytes();
    }

    /** The size of a rank's ring. */
    public static long ringBytes(Limits limits) {
        return (long) limits.ringSlots() * limits.ringSlotBytes();
    }
}
