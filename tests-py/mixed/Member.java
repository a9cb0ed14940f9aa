import org.jccl.Communicator;
import org.jccl.Group;
import org.jccl.type.DataType;
import org.jccl.type.RedOp;
import org.jccl.type.UniqueId;

import java.io.PrintWriter;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.CRC32;

/**
 * Member ID_FILE OUTPUT RANKS RANK KIND COUNT: a rank of a communicator whose other ranks are
 * programs in other languages; member.py says what each of them does.
 */
class Member {
    private static final int PERIOD = 2003;
    private static final DataType FLOAT = DataType.FLOAT32;

    private final int worldRank;
    private final int count;
    private final PrintWriter output;

    Member(int worldRank, int count, PrintWriter output) {
        this.worldRank = worldRank;
        this.count = count;
        this.output = output;
    }

    public static void main(String[] args) throws Exception {
        int ranks = Integer.parseInt(args[2]);
        int rank = Integer.parseInt(args[3]);
        int kind = Integer.parseInt(args[4]);
        Path idFile = Path.of(args[0]);
        while (!Files.exists(idFile)) {
            Thread.sleep(10);
        }
        UniqueId id = new UniqueId(Files.readAllBytes(idFile));
        try (var output = new PrintWriter(Files.newBufferedWriter(Path.of(args[1])));
                Communicator world = Communicator.initRank(ranks, id, rank)) {
            Member member = new Member(rank, Integer.parseInt(args[5]), output);
            member.allOperations(world, "world");
            try (Communicator own = world.split(kind, rank)) {
                member.allOperations(own, "kind");
            }
            try (Communicator other = world.split(rank % 2, -rank)) {
                member.allOperations(other, "across");
            }
            member.allOperations(world, "again");
        }
    }

    private void allOperations(Communicator comm, String phase) {
        int n = comm.count();
        int rank = comm.rank();
        int last = n - 1;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment y = arena.allocate(ValueLayout.JAVA_FLOAT, count);
            MemorySegment each = arena.allocate(ValueLayout.JAVA_FLOAT, (long) n * count);
            comm.allReduce(input(arena, 1, 1), y, count, FLOAT, RedOp.SUM);
            report(phase, "all_reduce", y);
            comm.broadcast(input(arena, 2, 1), y, count, FLOAT, 1 % n);
            report(phase, "broadcast", y);
            comm.reduce(input(arena, 3, 1), y, count, FLOAT, RedOp.SUM, last);
            if (rank == last) {
                report(phase, "reduce", y);
            }
            comm.allGather(input(arena, 4, 1), each, count, FLOAT);
            report(phase, "all_gather", each);
            comm.reduceScatter(input(arena, 5, n), y, count, FLOAT, RedOp.SUM);
            report(phase, "reduce_scatter", y);
            comm.allToAll(input(arena, 6, n), each, count, FLOAT);
            report(phase, "all_to_all", each);
            comm.gather(input(arena, 7, 1), rank == 0 ? each : null, count, FLOAT, 0);
            if (rank == 0) {
                report(phase, "gather", each);
            }
            comm.scatter(rank == last ? input(arena, 8, n) : null, y, count, FLOAT, last);
            report(phase, "scatter", y);
            MemorySegment sent = input(arena, 9, 1);
            Group.run(
                    () -> {
                        comm.send(sent, count, FLOAT, (rank + 1) % n);
                        comm.recv(y, count, FLOAT, (rank + n - 1) % n);
                    });
            report(phase, "ring", y);
        }
    }

    private MemorySegment input(Arena arena, int operation, int parts) {
        long length = (long) parts * count;
        MemorySegment x = arena.allocate(ValueLayout.JAVA_FLOAT, length);
        for (long i = 0; i < length; i++) {
            long seed = worldRank * 7919L + operation * 104729L + i % PERIOD * 31;
            x.setAtIndex(ValueLayout.JAVA_FLOAT, i, (seed % PERIOD - 1001) / 7f);
        }
        return x;
    }

    private void report(String phase, String operation, MemorySegment result) {
        CRC32 crc = new CRC32();
        crc.update(result.asByteBuffer());
        output.println(phase + " " + operation + " " + crc.getValue());
    }
}
