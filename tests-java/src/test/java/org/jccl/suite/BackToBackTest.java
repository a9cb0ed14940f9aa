package org.jccl.suite;

import org.jccl.Communicator;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.type.DataType;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** Broadcasts one behind the other, whose root is always ahead of its readers. */
final class BackToBackTest {
    private static final int CALLS = 12;

    /** Int32 of 4 ring slots and one more: the last chunk lies where the next call begins. */
    private static final int COUNT = 5 * (256 << 10) / 4;

    static List<Cluster> pairs() {
        return List.of(Cluster.threads(2), Cluster.threads(2).nodes(2), Cluster.processes(3));
    }

    /** Each call has its own data and buffer, so that nothing but the calls takes time. */
    public static final class Broadcasts implements Scenario {
        @Override
        public void run(Rank rank) {
            try (Communicator comm = rank.init();
                    Arena arena = Arena.ofConfined()) {
                MemorySegment[] data = new MemorySegment[CALLS];
                for (int i = 0; i < CALLS; i++) {
                    data[i] = Sums.filled(arena, rank.number() == 0 ? 1000 * i : -1, COUNT);
                }
                Sums.barrier(comm);
                for (int i = 0; i < CALLS; i++) {
                    comm.broadcast(data[i], data[i], COUNT, DataType.INT32, 0);
                }
                for (int i = 0; i < CALLS; i++) {
                    long wrong = data[i].mismatch(Sums.filled(arena, 1000 * i, COUNT));
                    Sums.require(wrong < 0, "call " + i + " is wrong from byte " + wrong + " on");
                }
            }
        }
    }

    @ParameterizedTest
    @MethodSource("pairs")
    void rootDoesNotOverwriteWhatItsReadersStillRead(Cluster cluster) {
        cluster.run(Broadcasts.class).assertAllSucceeded();
    }
}
