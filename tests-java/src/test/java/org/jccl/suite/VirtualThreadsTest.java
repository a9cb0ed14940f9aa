package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.Group;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.type.DataType;
import org.jccl.type.RedOp;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Ranks that are virtual threads and share one carrier: a call that kept it while it waits would
 * keep it from the ranks that it waits for, for ever.
 */
final class VirtualThreadsTest {
    private static final int LARGE = 1 << 20;
    private static final int RANKS = 4;
    private static final int TURNS = 100;

    private static final CountDownLatch TURNS_OF_CARRIER = new CountDownLatch(TURNS);

    /** Set by rank 0, all of whose process the recording covers. */
    private static final AtomicReference<Recording> PINNED = new AtomicReference<>();

    static List<Cluster> clusters() {
        return List.of(
                oneCarrier(1), oneCarrier(2), oneCarrier(1).environment("NCCL_SHM_DISABLE", "1"));
    }

    private static Cluster oneCarrier(int nodes) {
        return Cluster.threads(RANKS)
                .nodes(nodes)
                .jvmFlag("-Djdk.virtualThreadScheduler.parallelism=1")
                .jvmFlag("-Djdk.virtualThreadScheduler.maxPoolSize=1");
    }

    /** The life of a communicator, by virtual threads alone. */
    public static final class Life implements Scenario {
        @Override
        public void run(Rank rank) throws Exception {
            if (rank.number() == 0) {
                Recording recording = new Recording();
                recording.enable("jdk.VirtualThreadPinned").withThreshold(Duration.ZERO);
                recording.start();
                PINNED.set(recording);
            }
            AtomicReference<Throwable> failure = new AtomicReference<>();
            Thread virtual =
                    Thread.ofVirtual()
                            .name("virtual-rank-" + rank.number())
                            .uncaughtExceptionHandler((thread, thrown) -> failure.set(thrown))
                            .start(() -> live(rank));
            virtual.join();
            if (failure.get() != null) {
                throw new AssertionError(failure.get());
            }
            rank.post("lived " + rank.number(), "");
            if (rank.number() == 0) {
                for (int q = 1; q < rank.nRanks(); q++) {
                    rank.await("lived " + q);
                }
                assertEquals(List.of(), pinned());
            }
        }
    }

    private static void live(Rank rank) {
        try (Communicator comm = rank.init();
                Communicator polled = rank.init("polled", Config.DEFAULT.withBlocking(false))) {
            for (int count : List.of(1, 10_000, LARGE)) {
                Sums.allReduce(comm, count);
                Sums.allGather(comm, count);
            }
            polled.awaitReady(InitTest.SOON);
            NonBlocking.allReduce(polled, LARGE);
            ring(comm);
            waitsForOthers(comm);
            Communicator half = comm.split(comm.rank() % 2, 0);
            Sums.allReduce(half, LARGE);
            half.finalizeCommunicator();
            half.close();
            comm.finalizeCommunicator();
        }
    }

    private static void ring(Communicator comm) {
        int next = (comm.rank() + 1) % RANKS;
        int previous = (comm.rank() + RANKS - 1) % RANKS;
        try (Arena arena = Arena.ofShared()) {
            MemorySegment out = Sums.filled(arena, comm.rank(), LARGE);
            MemorySegment in = arena.allocate(4L * LARGE, 8);
            Group.run(
                    () -> {
                        comm.send(out, LARGE, DataType.INT32, next);
                        comm.recv(in, LARGE, DataType.INT32, previous);
                    });
            assertEquals(-1, in.mismatch(Sums.filled(arena, previous, LARGE)));
            comm.async().allReduce(in, out, LARGE, DataType.INT32, RedOp.SUM).join();
            Sums.checkSum(out, RANKS, LARGE);
        }
    }

    /** The others begin when a thread beside a waiting rank has had many turns of the carrier. */
    private static void waitsForOthers(Communicator comm) {
        Sums.barrier(comm);
        if (comm.rank() == 0) {
            Thread.ofVirtual()
                    .start(
                            () -> {
                                while (TURNS_OF_CARRIER.getCount() > 0) {
                                    TURNS_OF_CARRIER.countDown();
                                    Thread.yield();
                                }
                            });
        } else {
            try {
                TURNS_OF_CARRIER.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
        Sums.barrier(comm);
    }

    /**
     * Where a virtual thread was to park and could not, inside of JCCL. Not where the machine loads
     * or prepares a class, which pins by itself and happens once.
     */
    private static List<String> pinned() throws IOException {
        Path file = Files.createTempFile("pinned", ".jfr");
        try (Recording recording = PINNED.get()) {
            recording.stop();
            recording.dump(file);
            List<String> found = new ArrayList<>();
            for (RecordedEvent event : RecordingFile.readAllEvents(file)) {
                String stack = String.valueOf(event.getStackTrace());
                String operation = String.valueOf(event.<Object>getValue("blockingOperation"));
                boolean loads =
                        stack.contains("loadClass")
                                || stack.contains("<clinit>")
                                || operation.startsWith("Waited for initialization of");
                if (stack.contains("org.jccl") && !loads) {
                    found.add(event.getDuration() + " " + stack);
                }
            }
            return found;
        } finally {
            Files.delete(file);
        }
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void ranksOnOneCarrierCallEverything(Cluster cluster) {
        cluster.run(Life.class).assertAllSucceeded();
    }
}
