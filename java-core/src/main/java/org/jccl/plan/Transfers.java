package org.jccl.plan;

import static org.jccl.collective.SendRecv.RECEIVER;
import static org.jccl.collective.SendRecv.SENDER;

import org.jccl.collective.SendRecv;
import org.jccl.schedule.Limits;
import org.jccl.schedule.Nodes;
import org.jccl.schedule.Schedule;
import org.jccl.schedule.Shape;
import org.jccl.transport.RegionLayout;
import org.jccl.type.Operation;
import org.jspecify.annotations.Nullable;

/**
 * The plans of all sends and receives. A plan knows neither the ranks nor the size of a message, so
 * there is one for each side of a pair and each way between the two.
 */
public final class Transfers {
    /** Written and read by any thread without order: either of two equal ones may stay. */
    private static final @Nullable Plan[] PLANS = new Plan[4];

    private Transfers() {}

    /**
     * The plan of one side.
     *
     * @param side SENDER or RECEIVER of {@link SendRecv}
     * @param net whether the other side is reached over TCP
     */
    public static Plan plan(int side, boolean net) {
        int at = 2 * side + (net ? 1 : 0);
        Plan plan = PLANS[at];
        if (plan == null) {
            plan = compile(side, net);
            PLANS[at] = plan;
        }
        return plan;
    }

    private static Plan compile(int side, boolean net) {
        Limits limits = RegionLayout.limits(1);
        Shape any = new Shape(Operation.SEND, Nodes.one(2), 0, 0, 1, false, limits);
        Schedule schedule = SendRecv.schedule(side, limits);
        boolean[] wires = {net && side != SENDER, net && side != RECEIVER};
        return PlanCompiler.compile(schedule, any, wires, false);
    }
}
