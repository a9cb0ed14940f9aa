package org.jccl.suite;

import org.jccl.Communicator;
import org.jccl.Group;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.type.DataType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Scenario S4: several nodes of several ranks, of which each sends something else to each: by sends
 * and receives in a group, and by AlltoAll, in place too.
 */
final class ScenarioS4Test {
    private static final int KIB = 1 << 10;

    /** Arguments: bytes for each peer; how many times. */
    public static final class S4 implements Scenario {
        private int me;
        private int n;
        private int longs;

        @Override
        public void run(Rank rank) {
            me = rank.number();
            n = rank.nRanks();
            longs = rank.intArgument(0) / Long.BYTES;
            try (Communicator comm = rank.init();
                    Arena arena = Arena.ofConfined()) {
                MemorySegment send = arena.allocate((long) n * longs * Long.BYTES, 64);
                MemorySegment recv = arena.allocate(send.byteSize(), 64);
                for (int time = 0; time < rank.intArgument(1); time++) {
                    fill(send, 3 * time);
                    inAGroup(comm, send, recv);
                    check(recv, 3 * time);
                    fill(send, 3 * time + 1);
                    comm.allToAll(send, recv, longs, DataType.INT64);
                    check(recv, 3 * time + 1);
                    fill(send, 3 * time + 2);
                    comm.allToAll(send, send, longs, DataType.INT64);
                    check(send, 3 * time + 2);
                }
            }
        }

        /** Element i of what rank {@code from} has for rank {@code to} in this round. */
        private static long value(int from, int to, int round, int i) {
            return ((long) from << 48) + ((long) to << 32) + ((long) round << 24) + i;
        }

        private void fill(MemorySegment send, int round) {
            for (int to = 0; to < n; to++) {
                for (int i = 0; i < longs; i++) {
                    long index = (long) to * longs + i;
                    send.setAtIndex(ValueLayout.JAVA_LONG, index, value(me, to, round, i));
                }
            }
        }

        private void check(MemorySegment recv, int round) {
            for (int from = 0; from < n; from++) {
                for (int i = 0; i < longs; i++) {
                    long found = recv.getAtIndex(ValueLayout.JAVA_LONG, (long) from * longs + i);
                    long expected = value(from, me, round, i);
                    if (found != expected) {
                        throw wrong(round, from, i, found);
                    }
                }
            }
        }

        private AssertionError wrong(int round, int from, int i, long found) {
            String where = "rank " + me + " round " + round + ": from " + from + " element " + i;
            return new AssertionError(where + " is " + Long.toHexString(found));
        }

        private void inAGroup(Communicator comm, MemorySegment send, MemorySegment recv) {
            long bytes = (long) longs * Long.BYTES;
            Group.run(
                    () -> {
                        for (int q = 0; q < n; q++) {
                            MemorySegment to = send.asSlice(q * bytes, bytes);
                            MemorySegment from = recv.asSlice(q * bytes, bytes);
                            comm.send(to, longs, DataType.INT64, q);
                            comm.recv(from, longs, DataType.INT64, q);
                        }
                    });
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {KIB, 64 * KIB})
    void eightRanksOnFourNodes(int bytes) {
        Cluster.processes(8)
                .ranksPerProcess(2)
                .nodes(4)
                .run(S4.class, bytes, 3)
                .assertAllSucceeded();
    }

    @ParameterizedTest
    @Tag("stress")
    @ValueSource(ints = {KIB, KIB * KIB})
    void thirtyTwoRanksOnFourNodes(int bytes) {
        Cluster.processes(32)
                .ranksPerProcess(8)
                .nodes(4)
                .run(S4.class, bytes, 20)
                .assertAllSucceeded();
    }
}
