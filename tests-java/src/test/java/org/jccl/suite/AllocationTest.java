package org.jccl.suite;

import com.sun.management.ThreadMXBean;

import org.jccl.Communicator;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.type.DataType;
import org.jccl.type.RedOp;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.util.Arrays;

/** A repeated call allocates nothing. */
@Isolated("so many calls of two ranks take a core for each, or ten times as long")
final class AllocationTest {
    private static final int WARM_UP = 50_000;
    private static final int CALLS = 100_000;
    private static final int STRESS_CALLS = 1_000_000;
    private static final int TRIES = 6;

    /**
     * Counts the bytes that each thread allocates during so many all-reduces. What the compilers
     * have not compiled yet may allocate, also on rare paths, so a later try may pass, too.
     */
    public static final class ManyCalls implements Scenario {
        @Override
        public void run(Rank rank) {
            ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
            try (Communicator comm = rank.init();
                    Arena arena = Arena.ofConfined()) {
                MemorySegment data = arena.allocate(4L * 1024, 64);
                repeat(comm, data, WARM_UP);
                int calls = rank.intArgument(0);
                long[] bytes = new long[TRIES];
                for (int i = 0; i < TRIES; i++) {
                    long start = threads.getCurrentThreadAllocatedBytes();
                    repeat(comm, data, calls);
                    bytes[i] = threads.getCurrentThreadAllocatedBytes() - start;
                    if (worst(comm, data, bytes[i]) == 0) {
                        return;
                    }
                }
                throw new AssertionError(
                        "bytes per " + calls + " calls: " + Arrays.toString(bytes));
            }
        }

        private static long worst(Communicator comm, MemorySegment data, long bytes) {
            data.set(ValueLayout.JAVA_LONG, 0, bytes);
            comm.allReduce(data, data, 1, DataType.INT64, RedOp.MAX);
            return data.get(ValueLayout.JAVA_LONG, 0);
        }

        private static void repeat(Communicator comm, MemorySegment data, int calls) {
            for (int i = 0; i < calls; i++) {
                comm.allReduce(data, data, 2, DataType.FLOAT32, RedOp.SUM);
            }
        }
    }

    @Test
    void allReducesOfThreadsAllocateNothing() {
        Cluster.threads(2).run(ManyCalls.class, CALLS).assertAllSucceeded();
    }

    @Tag("stress")
    @Test
    void millionAllReducesOfThreadsAllocateNothing() {
        Cluster.threads(2).deadline(1200).run(ManyCalls.class, STRESS_CALLS).assertAllSucceeded();
    }

    @Tag("stress")
    @Test
    void millionAllReducesOfProcessesAllocateNothing() {
        Cluster.processes(2)
                .optimized()
                .deadline(1200)
                .run(ManyCalls.class, STRESS_CALLS)
                .assertAllSucceeded();
    }
}
