package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.bootstrap.Strangers;
import org.jccl.harness.Cluster;
import org.jccl.harness.Outcome;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.log.Log;
import org.junit.jupiter.api.Test;

import java.util.List;

/** Ranks that work while two hundred strangers attack the ports on which they listen. */
final class UnderStrangersTest {
    private static final int STRANGERS = 200;

    /**
     * Inits, splits and computes over TCP, again and again, until enough strangers were dropped.
     */
    public static final class Works implements Scenario {
        @Override
        public void run(Rank rank) throws Exception {
            try (Strangers strangers = Strangers.atListener(STRANGERS, 100)) {
                boolean enough = false;
                for (int i = 0; !enough; i++) {
                    Communicator comm = rank.init("world " + i, Config.DEFAULT);
                    for (int count = 1; count < 100_000; count *= 7) {
                        Sums.allReduce(comm, count);
                    }
                    Communicator child = comm.split(rank.number() % 2, 0);
                    Sums.allReduce(child, 1000);
                    child.close();
                    enough = Sums.allAgree(comm, strangers.dropped() >= 2 * STRANGERS);
                    comm.close();
                }
            }
        }
    }

    /**
     * Lets strangers come and go, says for how many seconds, and requires that they start no
     * thread.
     */
    public static final class Listens implements Scenario {
        @Override
        public void run(Rank rank) throws Exception {
            long began = System.nanoTime();
            // The thread of the log, which is there from the first line on, is no stranger's.
            Log.warn("strangers come");
            try (Strangers strangers = Strangers.atListener(STRANGERS, 20)) {
                while (strangers.dropped() < 5 * STRANGERS) {
                    Thread.sleep(10);
                    assertEquals(List.of(), strangers.threadsStarted());
                }
            }
            rank.say(Long.toString((System.nanoTime() - began) / 1_000_000_000L));
        }
    }

    @Test
    void resultsAreRightAllTheWhile() {
        Cluster.processes(3)
                .environment("NCCL_SHM_DISABLE", "1")
                .run(Works.class)
                .assertAllSucceeded();
    }

    @Test
    void oneLineIsLoggedForManyStrangers() {
        Outcome outcome =
                Cluster.processes(1)
                        .once()
                        .environment("NCCL_DEBUG", "ATTN")
                        .run(Listens.class)
                        .assertAllSucceeded();
        int lines = outcome.output().split("dropped a connection from", -1).length - 1;
        int seconds = Integer.parseInt(outcome.rank(0).said().getFirst());
        assertTrue(lines >= 1 && lines <= 1 + seconds / 10, outcome::toString);
    }
}
