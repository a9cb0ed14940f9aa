package org.jccl.suite;

import org.jccl.Collectives;
import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.Stream;
import org.jccl.device.UsedDevice;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.type.DataType;
import org.jccl.type.RedOp;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Several communicators at once, each in a stream of its own, to which the ranks come in different
 * orders: as programs with several kinds of parallelism do. A device has to run them side by side.
 */
final class DeviceOrderTest {
    private static final int ROUNDS = UsedDevice.SIMULATED ? 2 : 20;

    /** How many elements a rank has. */
    private enum Size {
        SMALL(100, 50_000),
        MIDDLE(2_000, 1 << 18),
        LARGE(30_000, 8 << 20);

        private final int count;

        Size(int simulated, int real) {
            count = UsedDevice.SIMULATED ? simulated : real;
        }
    }

    /** Arguments: how many communicators, and of how many elements the calls are. */
    public static final class OppositeOrders implements Scenario {
        @Override
        public void run(Rank rank) throws Exception {
            int n = rank.intArgument(0);
            int count = rank.intArgument(1);
            UsedDevice device = UsedDevice.number(rank.number());
            Config config = Config.DEFAULT.withDevice(device.name());
            List<Communicator> comms = new ArrayList<>();
            List<Stream> streams = new ArrayList<>();
            List<MemorySegment> sums = new ArrayList<>();
            List<MemorySegment> gathered = new ArrayList<>();
            try (Arena host = Arena.ofShared()) {
                for (int i = 0; i < n; i++) {
                    comms.add(rank.init("team" + i, config));
                    streams.add(new Stream(device.openStream()));
                    sums.add(device.memory(4L * count));
                    gathered.add(device.memory(4L * count * rank.nRanks()));
                }
                for (int round = 0; round < ROUNDS; round++) {
                    MemorySegment content = Sums.filled(host, rank.number(), count);
                    sums.forEach(sum -> device.put(sum, content));
                    for (int i = 0; i < n; i++) {
                        int which = rank.number() % 2 == 0 ? i : n - 1 - i;
                        MemorySegment sum = sums.get(which);
                        Collectives comm = comms.get(which).inStream(streams.get(which));
                        comm.allReduce(sum, sum, count, DataType.INT32, RedOp.SUM);
                        // Behind the first: it must not take the place of another communicator.
                        comm.allReduce(sum, sum, count, DataType.INT32, RedOp.MAX);
                        comm.allGather(sum, gathered.get(which), count, DataType.INT32);
                        comm.allGather(sum, gathered.get(which), count, DataType.INT32);
                    }
                    for (int i = 0; i < n; i++) {
                        device.synchronize(streams.get(i).handle());
                        MemorySegment result = host.allocate(4L * count * rank.nRanks(), 8);
                        device.get(result, gathered.get(i));
                        for (int q = 0; q < rank.nRanks(); q++) {
                            MemorySegment part = result.asSlice(4L * count * q, 4L * count);
                            Sums.checkSum(part, rank.nRanks(), count);
                        }
                    }
                }
                comms.forEach(Communicator::close);
                sums.forEach(device::release);
                gathered.forEach(device::release);
                streams.forEach(stream -> device.closeStream(stream.handle()));
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"2, LARGE", "4, LARGE", "4, MIDDLE", "4, SMALL"})
    void communicatorsDoNotWaitForEachOther(int communicators, Size size) {
        Cluster.threads(2)
                .deadline(60)
                .run(OppositeOrders.class, communicators, size.count)
                .assertAllSucceeded();
    }

    /** The last rank makes a communicator first, and then the call that the others wait for. */
    public static final class MadeMeanwhile implements Scenario {
        @Override
        public void run(Rank rank) throws Exception {
            int count = Size.SMALL.count;
            int n = rank.nRanks();
            boolean late = rank.number() == n - 1;
            try (Communicator world = rank.init("world", Config.DEFAULT);
                    Communicator parent = rank.init("parent", Config.DEFAULT);
                    Place place = Place.of(world)) {
                MemorySegment sum = place.holding(Sums.filled(place.host(), rank.number(), count));
                Collectives inStream = world.inStream(place.stream());
                if (!late) {
                    inStream.allReduce(sum, sum, count, DataType.INT32, RedOp.SUM);
                }
                Communicator node = parent.split(rank.number() / 2, rank.number());
                if (late) {
                    inStream.allReduce(sum, sum, count, DataType.INT32, RedOp.SUM);
                }
                place.await();
                Sums.checkSum(place.get(sum), n, count);
                Objects.requireNonNull(node).close();
            }
        }
    }

    @Test
    void communicatorIsMadeWhileADeviceWaitsForAnotherRank() {
        Cluster.processes(4)
                .nodes(2)
                .onDevices()
                .once()
                .deadline(60)
                .run(MadeMeanwhile.class)
                .assertAllSucceeded();
    }
}
