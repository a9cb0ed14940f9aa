package org.jccl.plan;

import org.jccl.call.Call;
import org.jccl.collective.Algorithm;
import org.jccl.collective.Algorithms;
import org.jccl.log.Log;
import org.jccl.log.Subsystem;
import org.jccl.schedule.Limits;
import org.jccl.schedule.Nodes;
import org.jccl.schedule.Schedule;
import org.jccl.schedule.Shape;
import org.jccl.transport.CallRecord;
import org.jccl.transport.RegionLayout;
import org.jccl.type.DataType;
import org.jccl.type.ErrorKind;
import org.jccl.type.Operation;
import org.jccl.type.RedOp;
import org.jspecify.annotations.Nullable;

import java.util.Arrays;
import java.util.List;

/**
 * Finds the plan for a call: in a direct-mapped cache, else by choosing an algorithm, building this
 * rank's schedule and compiling it. A hit allocates nothing.
 *
 * <p>Used by one thread at a time (the caller synchronises misses); hits may race with a miss,
 * since an entry is one immutable object in a plain array.
 */
public final class Planner {
    private static final int ENTRIES = 1024;

    /** The numbers of all operations, types and predefined reductions are shorter. */
    private static final int NUMBER_BITS = 5;

    /** Bound of all cached plans together, in array elements. */
    private static final int MAX_WEIGHT = 4 << 20;

    /** What a plan has some elements for, for each peer: a chunk on one node, else a frame. */
    private static final int PIECE_BYTES = 256 << 10;

    /**
     * Bound of one plan, in pieces times ranks; building it takes ten times its memory. 32 GiB with
     * 2 ranks, 8 GiB with 8.
     */
    private static final long MAX_PIECES = 1 << 18;

    private record Entry(long key, long count, Plan plan) {}

    private final int rank;
    private final Nodes nodes;
    private final Nodes oneNode;
    private final Limits limits;
    private final boolean rankOrder;
    private final boolean[] net;
    private final String name;
    private final @Nullable Entry[] entries = new Entry[ENTRIES];
    private int weight;
    private @Nullable Plan exchange;

    /**
     * A planner for one rank.
     *
     * @param nodes where the ranks are, the same on all of them
     * @param rankOrder whether all reductions fold in rank order, wherever the ranks are
     * @param net by rank, whether it is reached over TCP
     * @param name how logs call the communicator
     */
    public Planner(int rank, Nodes nodes, boolean rankOrder, boolean[] net, String name) {
        this.rank = rank;
        this.nodes = nodes;
        this.limits = RegionLayout.limits(nodes.count());
        this.oneNode = nodes.count() == 1 ? nodes : Nodes.one(nodes.nRanks());
        this.rankOrder = rankOrder;
        this.net = net;
        this.name = name;
    }

    /**
     * The plan of a collective with the numbers of one that has been checked. This one has an input
     * and an output, and has not been checked otherwise.
     *
     * @return null if there is none for its numbers, or if its buffers are neither apart nor in
     *     place
     */
    public @Nullable Plan known(Call call) {
        int numbers = call.operationNumber() | call.typeNumber() | call.redOp();
        if (numbers >>> NUMBER_BITS != 0 || call.peer() < 0) {
            return null;
        }
        Plan plan = find(call, true);
        if (plan != null && call.input() - call.output() == plan.inPlaceDistance()) {
            return plan;
        }
        plan = find(call, false);
        return plan == null || call.overlap(plan.inBytes(), plan.outBytes()) ? null : plan;
    }

    /**
     * The plan for a collective that has been checked.
     *
     * @param inPlace whether its buffers are in place
     */
    public Plan plan(Call call, boolean inPlace) {
        Plan plan = find(call, inPlace);
        if (plan == null) {
            plan = build(call, inPlace);
            keep(new Entry(key(call, inPlace), call.count(), plan));
        }
        return plan;
    }

    private @Nullable Plan find(Call call, boolean inPlace) {
        long key = key(call, inPlace);
        Entry entry = entries[slot(key, call.count())];
        return entry != null && entry.key == key && entry.count == call.count() ? entry.plan : null;
    }

    private static long key(Call call, boolean inPlace) {
        long description =
                CallRecord.describe(
                        call.operationNumber(), call.typeNumber(), call.redOp(), call.peer());
        return inPlace ? ~description : description;
    }

    /**
     * The plan of a collective that consists of sends and receives: it tells the other ranks of the
     * call and moves nothing.
     */
    public synchronized Plan exchange(Operation operation) {
        if (exchange == null) {
            Shape shape = new Shape(operation, nodes, 0, 0, 1, false, limits);
            Schedule nothing =
                    new Schedule(rank, nodes.nRanks(), List.of(), Schedule.Order.RANKS, 0);
            exchange = PlanCompiler.compile(nothing, shape, net, false);
        }
        return exchange;
    }

    private boolean inRankOrder(Call call) {
        return call.operation().reduces()
                && (rankOrder || leavesTheType(call.type(), call.redOp()));
    }

    /**
     * Whether a node's result may exceed the type although the whole result does not. A float16 is
     * infinite then; an 8-bit float is the largest number, which nobody could tell from a right
     * result. 8-bit floats would also lose most of a sum's digits if every node rounded it.
     */
    private static boolean leavesTheType(DataType type, int op) {
        return switch (type) {
            case FLOAT16 -> op == RedOp.AVG.number() || op == RedOp.PROD.number();
            case FLOAT8E4M3, FLOAT8E5M2 -> op != RedOp.MAX.number() && op != RedOp.MIN.number();
            default -> false;
        };
    }

    private static int slot(long key, long count) {
        long h = (key * 0x9e3779b97f4a7c15L ^ count) * 0xc2b2ae3d27d4eb4fL;
        return (int) (h >>> 54);
    }

    private synchronized Plan build(Call call, boolean inPlace) {
        // Buffers may be in place on some ranks only, and all ranks need the same algorithm.
        Shape apart = shape(call, false);
        requirePlannable(apart);
        Algorithm algorithm = Algorithms.choose(apart);
        boolean copies = inPlace && algorithm.readsWhileWriting();
        Shape shape = shape(call, inPlace && !copies);
        Schedule schedule = algorithm.schedule(shape, rank);
        Plan plan = PlanCompiler.compile(schedule, shape, net, copies);
        Log.info(
                Subsystem.TUNING,
                "%s: %s Bytes -> Algo %s on %s",
                call.operation().ncclName(),
                call.partBytes(),
                algorithm.name(),
                name);
        return plan;
    }

    private Shape shape(Call call, boolean inPlace) {
        return new Shape(
                call.operation(),
                inRankOrder(call) ? oneNode : nodes,
                call.peer(),
                call.count(),
                call.type().sizeBytes(),
                inPlace,
                limits);
    }

    private synchronized void keep(Entry entry) {
        int at = slot(entry.key, entry.count);
        Entry old = entries[at];
        weight += entry.plan.weight() - (old == null ? 0 : old.plan.weight());
        if (weight > MAX_WEIGHT) {
            Arrays.fill(entries, null);
            weight = entry.plan.weight();
        }
        entries[at] = entry;
    }

    private static void requirePlannable(Shape shape) {
        int mostRanks = shape.limits().ringSlotBytes() / shape.elementBytes();
        if (shape.nRanks() > mostRanks && Algorithms.find(shape).isEmpty()) {
            throw ErrorKind.TOO_MANY_RANKS.says(
                    "%s of elements of %s bytes is done among at most %s ranks, not %s; call it "
                            + "for smaller elements",
                    shape.operation().ncclName(), shape.elementBytes(), mostRanks, shape.nRanks());
        }
        long bytes = Math.max(shape.inBytes(), shape.outBytes());
        long most = MAX_PIECES / shape.nRanks() * PIECE_BYTES;
        if (bytes > most && shape.nRanks() > 1) {
            throw ErrorKind.TOO_LARGE.says(
                    "%s of %s bytes on %s ranks is more than one call can move, %s bytes; "
                            + "call it for parts",
                    shape.operation().ncclName(), bytes, shape.nRanks(), most);
        }
    }
}
