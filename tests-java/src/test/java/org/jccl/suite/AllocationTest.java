package org.jccl.suite;

import com.sun.management.ThreadMXBean;

import org.jccl.Communicator;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.type.DataType;
import org.jccl.type.RedOp;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.util.List;

/** A repeated call allocates nothing. */
@org.junit.jupiter.api.Tag("stress")
final class AllocationTest {
    private static final int WARM_UP = 50_000;
    private static final int CALLS = 1_000_000;

    static List<Cluster> clusters() {
        return List.of(Cluster.threads(2), Cluster.processes(2));
    }

    /** Counts the bytes that this thread allocates during a million all-reduces. */
    public static final class Million implements Scenario {
        @Override
        public void run(Rank rank) {
            ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
            try (Communicator comm = rank.init();
                    Arena arena = Arena.ofConfined()) {
                MemorySegment data = arena.allocate(4L * 1024, 64);
                repeat(comm, data, WARM_UP);
                long before = threads.getCurrentThreadAllocatedBytes();
                long unit = threads.getCurrentThreadAllocatedBytes() - before;
                long start = threads.getCurrentThreadAllocatedBytes();
                repeat(comm, data, CALLS);
                long bytes = threads.getCurrentThreadAllocatedBytes() - start - unit;
                Sums.require(bytes == 0, bytes + " bytes in " + CALLS + " calls");
            }
        }

        private static void repeat(Communicator comm, MemorySegment data, int calls) {
            for (int i = 0; i < calls; i++) {
                comm.allReduce(data, data, 2, DataType.FLOAT32, RedOp.SUM);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void millionAllReducesAllocateNothing(Cluster cluster) {
        cluster.deadline(240).run(Million.class).assertAllSucceeded();
    }
}
