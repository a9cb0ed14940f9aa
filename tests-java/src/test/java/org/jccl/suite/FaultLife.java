package org.jccl.suite;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.Group;
import org.jccl.harness.Faults;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.type.DataType;
import org.jccl.type.RedOp;
import org.jccl.type.UniqueId;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Random;

/**
 * A communicator's life, from init to destroy, with operations of each kind, all results compared,
 * in which the fault of a {@link FaultPlan} happens. Says where it is.
 */
public final class FaultLife implements Scenario {
    /** The word of the victim of a shortage once the shortage has kept it from something. */
    static final String MET = "a shortage was met";

    private static final int[] COUNTS = {1, 3, 1000, 30_000, 400_000};

    @Override
    public void run(Rank rank) {
        FaultPlan plan = FaultPlan.of(Long.parseLong(rank.argument(0)));
        Life life = new Life(rank, plan);
        try {
            life.run();
        } finally {
            life.end();
        }
    }

    private static final class Life {
        private final Rank rank;
        private final FaultPlan plan;
        private Communicator comm;
        private Communicator child;

        Life(Rank rank, FaultPlan plan) {
            this.rank = rank;
            this.plan = plan;
        }

        void run() {
            // The id's maker must not die before the others have it.
            UniqueId id = rank.uniqueId("world");
            rank.post("rank " + rank.number() + " has the id", "");
            for (int q = 0; q < rank.nRanks(); q++) {
                rank.await("rank " + q + " has the id");
            }
            step(
                    FaultPlan.Phase.INIT,
                    () -> {
                        String node = plan.links().node(rank.number(), rank.nRanks());
                        Config config = Config.DEFAULT.withHostId(node);
                        comm = Communicator.initRank(rank.nRanks(), id, rank.number(), config);
                    });
            step(FaultPlan.Phase.OPERATIONS, () -> operations(comm, plan.seed()));
            step(FaultPlan.Phase.SPLIT, () -> child = comm.split(0, rank.number()));
            step(FaultPlan.Phase.CHILD, () -> operations(child, plan.seed() + 1));
            // So that everybody still needs a rank that died in the child.
            Sums.barrier(comm);
            step(FaultPlan.Phase.FINALIZE, comm::finalizeCommunicator);
            step(FaultPlan.Phase.DESTROY, this::close);
        }

        private void step(FaultPlan.Phase phase, Runnable body) {
            rank.say(phase.name());
            plan.arm(rank.number(), phase);
            try {
                body.run();
            } finally {
                if (plan.disarm(rank.number(), phase)) {
                    rank.say(MET);
                }
            }
        }

        /** Calls operations; in a partition without end, as nobody knows when it begins. */
        private void operations(Communicator on, long seed) {
            Random random = new Random(seed);
            boolean endless =
                    plan.endless(on == comm ? FaultPlan.Phase.OPERATIONS : FaultPlan.Phase.CHILD);
            for (int i = 0; i < 12 || endless; i++) {
                operation(on, random.nextInt(5), COUNTS[random.nextInt(COUNTS.length)]);
            }
            Sums.barrier(on);
        }

        private void close() {
            child.close();
            comm.close();
        }

        void end() {
            if (child != null) {
                child.abort();
            }
            if (comm != null) {
                comm.abort();
            }
        }
    }

    static void operation(Communicator comm, int kind, int count) {
        switch (kind) {
            case 0 -> Sums.allReduce(comm, count);
            case 1 -> Sums.allGather(comm, Math.min(count, 30_000));
            case 2 -> broadcast(comm, count);
            case 3 -> reduceScatter(comm, Math.min(count, 30_000));
            default -> exchange(comm, count);
        }
    }

    private static void broadcast(Communicator comm, int count) {
        int root = count % comm.count();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment data = Sums.filled(arena, comm.rank(), count);
            comm.broadcast(data, data, count, DataType.INT32, root);
            check(data, count, root);
        }
    }

    /** Compares with what {@link Sums#filled} gives for this rank. */
    private static void check(MemorySegment data, int count, int rank) {
        Sums.check(data, count, rank, 1);
    }

    private static void reduceScatter(Communicator comm, int count) {
        int n = comm.count();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment data = Sums.filled(arena, comm.rank(), n * count);
            MemorySegment part = arena.allocate(4L * count, 8);
            comm.reduceScatter(data, part, count, DataType.INT32, RedOp.SUM);
            Sums.check(part, count, n * (n - 1) / 2 + n * comm.rank() * count, n);
        }
    }

    /** Sends to the next rank and receives from the one before. */
    private static void exchange(Communicator comm, int count) {
        int n = comm.count();
        int before = (comm.rank() + n - 1) % n;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment out = Sums.filled(arena, comm.rank(), count);
            MemorySegment in = arena.allocate(4L * count, 8);
            Group.run(
                    () -> {
                        comm.send(out, count, DataType.INT32, (comm.rank() + 1) % n);
                        comm.recv(in, count, DataType.INT32, before);
                    });
            check(in, count, before);
        }
    }

    /** The job after a round: right results, and afterwards nothing is held that was not before. */
    public static final class Next implements Scenario {
        @Override
        public void run(Rank rank) {
            FaultPlan plan = FaultPlan.of(Long.parseLong(rank.argument(0)));
            String node = plan.links().node(rank.number(), rank.nRanks());
            try (Communicator comm = rank.init(Config.DEFAULT.withHostId(node))) {
                for (int kind = 0; kind < 5; kind++) {
                    operation(comm, kind, 30_000);
                }
                try (Communicator child = comm.split(0, -rank.number())) {
                    Sums.allReduce(child, 1000);
                }
            }
            Faults.requireNothingHeld();
        }
    }
}
