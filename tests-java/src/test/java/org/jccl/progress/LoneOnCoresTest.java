package org.jccl.progress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.jccl.comm.Comm;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.platform.Cores;
import org.jccl.platform.ProcessIdentity;
import org.junit.jupiter.api.Test;

import java.nio.charset.StandardCharsets;

/** Ranks whose processes are kept to a core each, as by {@code mpirun --bind-to core}. */
final class LoneOnCoresTest {
    @Test
    void processesOnDifferentCoresHaveOneEach() {
        assumeTrue(Cores.usable().cardinality() > 1, "there is one core only");
        int first = Cores.usable().nextSetBit(0);
        int second = Cores.usable().nextSetBit(first + 1);
        Cluster.processes(2).once().run(Pinned.class, first, second, true).assertAllSucceeded();
    }

    @Test
    void processesOnOneCoreShareIt() {
        int first = Cores.usable().nextSetBit(0);
        Cluster.processes(2).once().run(Pinned.class, first, first, false).assertAllSucceeded();
    }

    /** Each rank keeps its process to a core before init. */
    public static final class Pinned implements Scenario {
        @Override
        public void run(Rank rank) throws Exception {
            String core = rank.argument(rank.number());
            String pid = String.valueOf(ProcessIdentity.current().pid());
            Process done =
                    new ProcessBuilder("taskset", "-acp", core, pid)
                            .redirectErrorStream(true)
                            .start();
            String said = new String(done.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertTrue(done.waitFor() == 0, said);
            Comm comm = StreamAgentTest.create(rank, "pinned");
            assertEquals(Boolean.valueOf(rank.argument(2)), comm.executor().loneOnCores);
            assertFalse(comm.executor().helpersHaveCores);
            rank.post("seen" + rank.number(), "");
            rank.await("seen" + (1 - rank.number()));
            comm.abort();
        }
    }
}
