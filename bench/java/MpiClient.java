import mpi.Collective;
import mpi.Comm;
import mpi.Datatype;
import mpi.MPI;
import mpi.MPIException;
import mpi.Op;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * All-reduce of floats in Intel MPI's Java bindings, on direct buffers: {@code mpiexec -n RANKS
 * java MpiClient SIZE...}.
 */
public final class MpiClient implements Measure.Library {
    private final int rank = Comm.WORLD.getRank();
    private final int ranks = Comm.WORLD.getSize();
    private final ByteBuffer mine = ByteBuffer.allocateDirect(8).order(ByteOrder.nativeOrder());
    private final ByteBuffer all = ByteBuffer.allocateDirect(8).order(ByteOrder.nativeOrder());

    private MpiClient() throws MPIException {}

    /** Measures every size in bytes that is named. */
    public static void main(String[] args) throws IOException, InterruptedException, MPIException {
        MPI.Init(args);
        new Measure(new MpiClient()).all(args, 0);
        MPI.Finalize();
    }

    @Override
    public int rank() {
        return rank;
    }

    @Override
    public int ranks() {
        return ranks;
    }

    @Override
    public Runnable sum(MemorySegment in, MemorySegment out, long count) {
        Buffer send = in.asByteBuffer();
        Buffer recv = out.asByteBuffer();
        int n = Math.toIntExact(count);
        return () -> Collective.allReduce(send, recv, n, Datatype.FLOAT, Op.MPI_SUM, Comm.WORLD);
    }

    @Override
    public double maximum(double number) {
        mine.putDouble(0, number);
        Collective.allReduce(mine, all, 1, Datatype.DOUBLE, Op.MPI_MAX, Comm.WORLD);
        return all.getDouble(0);
    }
}
