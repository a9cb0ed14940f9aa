package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.RedOp;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.ObjIntConsumer;

/** A thread destroys or aborts a communicator on which another is in the middle of an operation. */
class DestroyRacesTest {
    @ParameterizedTest(name = "{0} elements, {1}")
    @CsvSource({"1, shm", "300000, shm", "1, net", "300000, net"})
    void operationsBeneathAnEndSucceedOrSayWhoHasLeft(int count, String transport) {
        Cluster.processes(2).run(Races.class, count, transport).assertAllSucceeded();
    }

    /** Communicators whose threads work until each rank ends them, at a moment of its own. */
    public static final class Races implements Scenario {
        private static final int ROUNDS = 16;
        private static final Duration LONGEST = Duration.ofSeconds(6);
        private static final ObjIntConsumer<Communicator> ALL_REDUCE = Races::allReduce;
        private static final ObjIntConsumer<Communicator> EXCHANGE = Races::exchange;
        private static final Set<NcclResult> ENDS =
                EnumSet.of(
                        NcclResult.REMOTE_ERROR,
                        NcclResult.INVALID_ARGUMENT,
                        NcclResult.INVALID_USAGE);

        private volatile @Nullable Throwable wrong;

        @Override
        public void run(Rank rank) throws Exception {
            boolean net = rank.argument(1).equals("net");
            Config config = Config.DEFAULT.withHostId(net ? "node" + rank.number() : "node");
            Random random = new Random(rank.number());
            for (int round = 0; round < ROUNDS; round++) {
                Communicator comm = rank.init("round " + round, config);
                int count = rank.intArgument(0);
                boolean collective = round % 2 == 0;
                Thread worker =
                        start(() -> (collective ? ALL_REDUCE : EXCHANGE).accept(comm, count));
                Thread.sleep(random.nextInt(4));
                if (random.nextInt(4) == 0) {
                    comm.abort();
                } else {
                    comm.close();
                }
                assertTrue(worker.join(LONGEST), "the operation hangs");
                assertNull(wrong);
            }
        }

        private Thread start(Runnable body) {
            Thread thread = new Thread(() -> untilTheEnd(body));
            thread.start();
            return thread;
        }

        private void untilTheEnd(Runnable body) {
            long limitNs = TimeUnit.SECONDS.toNanos(60);
            long since = System.nanoTime();
            try {
                while (System.nanoTime() - since < limitNs) {
                    body.run();
                }
                throw new IllegalStateException("no end came");
            } catch (NcclException end) {
                boolean named = String.valueOf(end.getMessage()).contains("rank ");
                if (!ENDS.contains(end.result()) || !named) {
                    wrong = end;
                }
            } catch (RuntimeException | Error unforeseen) {
                wrong = unforeseen;
            }
        }

        private static void allReduce(Communicator comm, int count) {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment data = arena.allocate(4L * count, 64);
                comm.allReduce(data, data, count, DataType.INT32, RedOp.SUM);
            }
        }

        private static void exchange(Communicator comm, int count) {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment data = arena.allocate(4L * count, 64);
                int peer = 1 - comm.rank();
                if (peer == 1) {
                    comm.send(data, count, DataType.INT32, peer);
                } else {
                    comm.recv(data, count, DataType.INT32, peer);
                }
            }
        }
    }
}
