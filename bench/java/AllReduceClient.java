import org.jccl.Communicator;
import org.jccl.type.DataType;
import org.jccl.type.RedOp;
import org.jccl.type.UniqueId;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;

/**
 * Communicator.allReduce of floats: {@code AllReduceClient RANK RANKS ID_FILE SIZE...}; rank 0
 * prints "size microseconds stolen trip", a line each, and writes a {@link Report} to the file that
 * MEASURE_JSON names.
 */
public final class AllReduceClient implements Measure.Library {
    private final Communicator comm;
    private final MemorySegment scalar = Arena.global().allocate(8, 8);

    private AllReduceClient(Communicator comm) {
        this.comm = comm;
    }

    /** Measures every size in bytes that is named behind rank, ranks and file. */
    public static void main(String[] args) throws IOException, InterruptedException {
        int rank = Integer.parseInt(args[0]);
        int nRanks = Integer.parseInt(args[1]);
        UniqueId id = exchange(rank, Path.of(args[2]));
        try (Communicator comm = Communicator.initRank(nRanks, id, rank)) {
            List<Report.Figure> figures = new Measure(new AllReduceClient(comm)).all(args, 3);
            String file = System.getenv("MEASURE_JSON");
            if (rank == 0 && file != null) {
                Report.of(nRanks, figures, comm.stats()).write(Path.of(file));
            }
        }
    }

    /** Rank 0 writes the id and renames the file, so that it appears whole. */
    private static UniqueId exchange(int rank, Path file) throws IOException, InterruptedException {
        if (rank == 0) {
            Path draft = file.resolveSibling(file.getFileName() + ".draft");
            Files.write(draft, Communicator.uniqueId().toBytes());
            Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE);
        }
        while (!Files.exists(file)) {
            Thread.sleep(1);
        }
        return new UniqueId(Files.readAllBytes(file));
    }

    @Override
    public int rank() {
        return comm.rank();
    }

    @Override
    public int ranks() {
        return comm.count();
    }

    @Override
    public Runnable sum(MemorySegment in, MemorySegment out, long count) {
        return () -> comm.allReduce(in, out, count, DataType.FLOAT32, RedOp.SUM);
    }

    @Override
    public double maximum(double mine) {
        scalar.set(ValueLayout.JAVA_DOUBLE, 0, mine);
        comm.allReduce(scalar, scalar, 1, DataType.FLOAT64, RedOp.MAX);
        return scalar.get(ValueLayout.JAVA_DOUBLE, 0);
    }
}
