package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.Communicator;
import org.jccl.Group;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.type.DataType;
import org.jccl.type.RedOp;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;

/** A job of a size that programs have, as threads of one process. */
final class ManyRanksTest {
    private static final int CHILD = 32;
    private static final int MESSAGE = 20_000;
    private static final long MOST_KB = 8L << 20;

    /** Ends what hangs. The test prints how long it took, which depends on what else runs. */
    private static final int DEADLINE_S = 240;

    private static Cluster threadsOfOneProcess(int nRanks) {
        return Cluster.processes(nRanks)
                .ranksPerProcess(nRanks)
                .jvmFlag("-Xmx3g")
                .once()
                .deadline(DEADLINE_S);
    }

    /** Init, collectives, a split, a ring of sends in both; the first rank says what it took. */
    public static final class OneLife implements Scenario {
        @Override
        public void run(Rank rank) {
            long begin = System.nanoTime();
            try (Communicator world = rank.init()) {
                tell(rank, begin, "init");
                allReduce(world, 1);
                tell(rank, begin, "all-reduce of 4 B");
                allReduce(world, 1000);
                tell(rank, begin, "all-reduce of 4 kB");
                allReduce(world, 5000);
                tell(rank, begin, "all-reduce of 20 kB");
                int me = rank.number();
                try (Communicator child = Objects.requireNonNull(world.split(me / CHILD, -me))) {
                    tell(rank, begin, "split");
                    allReduce(child, 5000);
                    ring(child);
                    tell(rank, begin, "ring of each child");
                }
                ring(world);
                allReduce(world, 1);
                tell(rank, begin, "ring of all");
            }
            tell(rank, begin, "end");
        }

        private static void tell(Rank rank, long begin, String what) {
            if (rank.number() == 0) {
                rank.say(what + " after " + (System.nanoTime() - begin) / 1_000_000 + " ms");
                rank.say("most memory: " + mostResidentKb() + " kB");
            }
        }

        /** An arena of one thread: to close a shared one, Java asks every thread of the process. */
        private static void allReduce(Communicator comm, int count) {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment data = Sums.filled(arena, comm.rank(), count);
                comm.allReduce(data, data, count, DataType.INT32, RedOp.SUM);
                Sums.checkSum(data, comm.count(), count);
            }
        }

        private static void ring(Communicator comm) {
            int n = comm.count();
            int next = (comm.rank() + 1) % n;
            int previous = (comm.rank() + n - 1) % n;
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment out = Sums.filled(arena, comm.rank(), MESSAGE);
                MemorySegment in = arena.allocate(out.byteSize(), 8);
                Group.run(
                        () -> {
                            comm.send(out, MESSAGE, DataType.INT32, next);
                            comm.recv(in, MESSAGE, DataType.INT32, previous);
                        });
                Sums.require(in.mismatch(Sums.filled(arena, previous, MESSAGE)) < 0, "wrong");
            }
        }

        private static long mostResidentKb() {
            try {
                return Files.readAllLines(Path.of("/proc/self/status")).stream()
                        .filter(line -> line.startsWith("VmHWM:"))
                        .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
                        .sum();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private static void live(int nRanks) {
        String said =
                threadsOfOneProcess(nRanks)
                        .run(OneLife.class)
                        .assertAllSucceeded()
                        .rank(0)
                        .said()
                        .toString();
        System.out.println(nRanks + " ranks: " + said);
        String last = said.substring(said.lastIndexOf(": ") + 2, said.lastIndexOf(" kB"));
        assertTrue(Long.parseLong(last) <= MOST_KB, said);
    }

    @Test
    void sixtyFour() {
        live(64);
    }

    @Test
    @Tag("stress")
    void aThousand() {
        live(1024);
    }
}
