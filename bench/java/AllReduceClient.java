import org.jccl.Communicator;
import org.jccl.type.DataType;
import org.jccl.type.RedOp;
import org.jccl.type.UniqueId;

import java.io.BufferedReader;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Communicator.allReduce of floats, measured as c/measure.c does: {@code AllReduceClient RANK RANKS
 * ID_FILE SIZE...}; rank 0 prints "size microseconds stolen", a line each, and writes a {@link
 * Report} to the file that MEASURE_JSON names.
 */
public final class AllReduceClient {
    private static final int LINE_FLOATS = 16;
    private static final int SERIES = 9;
    private static final int CALIBRATION_CALLS = 10;
    private static final int MAX_CALLS =
            System.getenv("MEASURE_SERIES_MS") == null ? 200_000 : 1_000_000_000;
    private static final int MIN_CALLS = 3;
    private static final double WARM_UP_NS = 600e6;
    private static final double SERIES_NS = fromEnvironment("MEASURE_SERIES_MS", 20e6);
    private static final double PATIENCE_NS = fromEnvironment("MEASURE_PATIENCE_MS", 5e9);
    private static final int PAUSE_MS = 50;
    private static final int STOLEN_FIELD = 8;
    private static final Path STATISTICS = Path.of("/proc/stat");

    /** Time of a call, and the hundredths of a second that the host stole meanwhile. */
    private record Series(double ns, double stolen) {}

    private final Communicator comm;
    private final MemorySegment scalar = Arena.global().allocate(8, 8);

    /** Written after each call so that the reads of the output are not optimised away. */
    private float seen;

    private AllReduceClient(Communicator comm) {
        this.comm = comm;
    }

    /** Measures every size in bytes that is named behind rank, ranks and file. */
    public static void main(String[] args) throws IOException, InterruptedException {
        int rank = Integer.parseInt(args[0]);
        int nRanks = Integer.parseInt(args[1]);
        UniqueId id = exchange(rank, Path.of(args[2]));
        try (Communicator comm = Communicator.initRank(nRanks, id, rank)) {
            AllReduceClient client = new AllReduceClient(comm);
            List<Report.Figure> figures = new ArrayList<>();
            for (int i = 3; i < args.length; i++) {
                long bytes = Long.parseLong(args[i]);
                Series median = client.measure(bytes);
                if (rank == 0) {
                    double us = median.ns() / 1000;
                    System.out.printf("%d %.4f %.0f%n", bytes, us, median.stolen());
                    figures.add(new Report.Figure(bytes, us, median.stolen()));
                }
            }
            String file = System.getenv("MEASURE_JSON");
            if (rank == 0 && file != null) {
                Report.of(nRanks, figures, comm.stats()).write(Path.of(file));
            }
            if (Float.isNaN(client.seen)) {
                throw new AssertionError("a sum is no number");
            }
        }
    }

    private static double fromEnvironment(String name, double ns) {
        String ms = System.getenv(name);
        return ms == null ? ns : Double.parseDouble(ms) * 1e6;
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

    private Series measure(long bytes) throws IOException, InterruptedException {
        try (Arena arena = Arena.ofConfined()) {
            long count = bytes / Float.BYTES;
            MemorySegment in = arena.allocate(bytes, 4096);
            MemorySegment out = arena.allocate(bytes, 4096);
            check(in, out, count);
            double callNs = calls(in, out, count, CALIBRATION_CALLS);
            double warmNs = 0;
            while (maximum(warmNs) < WARM_UP_NS) {
                long n = agreed(callNs);
                callNs = calls(in, out, count, n);
                warmNs += callNs * n;
            }
            long n = agreed(callNs);
            Series median = quietSeries(in, out, count, n);
            check(in, out, count);
            return median;
        }
    }

    private Series quietSeries(MemorySegment in, MemorySegment out, long count, long n)
            throws IOException, InterruptedException {
        List<Series> all = new ArrayList<>();
        int quiet = 0;
        long since = System.nanoTime();
        while (all.size() < SERIES
                || (quiet < SERIES && maximum(System.nanoTime() - since) < PATIENCE_NS)) {
            double before = stolen();
            double ns = calls(in, out, count, n);
            double stolen = maximum(stolen() - before);
            all.add(new Series(ns, stolen));
            if (stolen == 0) {
                quiet++;
            } else {
                Thread.sleep(PAUSE_MS);
                calls(in, out, count, MIN_CALLS);
            }
        }
        all.sort(Comparator.comparingDouble(Series::stolen));
        double most = all.get(SERIES - 1).stolen();
        List<Series> least = all.subList(0, SERIES);
        least.sort(Comparator.comparingDouble(Series::ns));
        return new Series(least.get(SERIES / 2).ns(), most);
    }

    private static double stolen() throws IOException {
        try (BufferedReader lines = Files.newBufferedReader(STATISTICS)) {
            return Double.parseDouble(lines.readLine().split(" +")[STOLEN_FIELD]);
        }
    }

    /**
     * Writes a word of every line of the input, calls, reads a word of every line of the output.
     */
    private double calls(MemorySegment in, MemorySegment out, long count, long n) {
        long since = System.nanoTime();
        for (long call = 0; call < n; call++) {
            one(in, out, count, (call & 7) + comm.rank());
        }
        return (System.nanoTime() - since) / (double) n;
    }

    /** In a method of its own, since a loop that runs in main is compiled on the stack. */
    private void one(MemorySegment in, MemorySegment out, long count, float value) {
        for (long i = 0; i < count; i += LINE_FLOATS) {
            in.setAtIndex(ValueLayout.JAVA_FLOAT, i, value);
        }
        comm.allReduce(in, out, count, DataType.FLOAT32, RedOp.SUM);
        float sum = 0;
        for (long i = 0; i < count; i += LINE_FLOATS) {
            sum += out.getAtIndex(ValueLayout.JAVA_FLOAT, i);
        }
        seen = sum;
    }

    private long agreed(double callNs) {
        return Math.clamp((long) (SERIES_NS / maximum(callNs)), MIN_CALLS, MAX_CALLS);
    }

    private double maximum(double mine) {
        scalar.set(ValueLayout.JAVA_DOUBLE, 0, mine);
        comm.allReduce(scalar, scalar, 1, DataType.FLOAT64, RedOp.MAX);
        return scalar.get(ValueLayout.JAVA_DOUBLE, 0);
    }

    private void check(MemorySegment in, MemorySegment out, long count) {
        int nRanks = comm.count();
        for (long i = 0; i < count; i++) {
            in.setAtIndex(ValueLayout.JAVA_FLOAT, i, (i & 1023) + comm.rank());
        }
        comm.allReduce(in, out, count, DataType.FLOAT32, RedOp.SUM);
        for (long i = 0; i < count; i++) {
            float expected = nRanks * (i & 1023) + nRanks * (nRanks - 1) / 2f;
            float found = out.getAtIndex(ValueLayout.JAVA_FLOAT, i);
            if (found != expected) {
                throw new AssertionError("element " + i + " is " + found + ", not " + expected);
            }
        }
    }
}
