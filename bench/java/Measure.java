import java.io.BufferedReader;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Measures a library's all-reduce of floats as c/measure.c does, and prints what it finds. */
final class Measure {
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

    /** As in c/measure.c: the folder that keeps the least time of the work, and its amount. */
    private static final String NEIGHBOUR = System.getenv("MEASURE_NEIGHBOUR");

    private static final int WORK = 30_000;
    private static final int LOOKS = 20;
    private static final double SLOWED = 1.25;

    /** The library of a client. */
    interface Library {
        /** This process's rank. */
        int rank();

        /** How many ranks there are. */
        int ranks();

        /** The call that sums so many floats of {@code in} over the ranks into {@code out}. */
        Runnable sum(MemorySegment in, MemorySegment out, long count);

        /** The greatest of all ranks' numbers. */
        double maximum(double mine);
    }

    /** Time of a call, and the hundredths of a second that the host stole meanwhile. */
    private record Series(double ns, double stolen) {}

    private final Library library;

    /** Written after each call so that the reads of the output are not optimised away. */
    private float seen;

    /** Written after the work likewise. */
    private long worked;

    private double leastWorkNs = Double.POSITIVE_INFINITY;

    Measure(Library library) {
        this.library = library;
    }

    /**
     * Measures sizes in bytes; rank 0 prints "size microseconds stolen", a line each.
     *
     * @param sizes the arguments of the program from {@code first} on
     */
    List<Report.Figure> all(String[] sizes, int first) throws IOException, InterruptedException {
        Path kept = NEIGHBOUR == null ? null : Path.of(NEIGHBOUR, "java-" + library.rank());
        if (kept != null && Files.exists(kept)) {
            leastWorkNs = Double.parseDouble(Files.readString(kept));
        }
        List<Report.Figure> figures = new ArrayList<>();
        for (int i = first; i < sizes.length; i++) {
            long bytes = Long.parseLong(sizes[i]);
            Series median = measure(bytes);
            if (library.rank() == 0) {
                double us = median.ns() / 1000;
                System.out.printf("%d %.4f %.0f%n", bytes, us, median.stolen());
                figures.add(new Report.Figure(bytes, us, median.stolen()));
            }
        }
        if (Float.isNaN(seen) || worked == 1) {
            throw new AssertionError("a sum is no number");
        }
        if (kept != null) {
            Files.writeString(kept, Double.toString(leastWorkNs));
        }
        return figures;
    }

    private static double fromEnvironment(String name, double ns) {
        String ms = System.getenv(name);
        return ms == null ? ns : Double.parseDouble(ms) * 1e6;
    }

    private Series measure(long bytes) throws IOException, InterruptedException {
        try (Arena arena = Arena.ofConfined()) {
            long count = bytes / Float.BYTES;
            MemorySegment in = arena.allocate(bytes, 4096);
            MemorySegment out = arena.allocate(bytes, 4096);
            Runnable sum = library.sum(in, out, count);
            check(sum, in, out, count);
            double callNs = calls(sum, in, out, count, CALIBRATION_CALLS);
            double warmNs = 0;
            while (library.maximum(warmNs) < WARM_UP_NS) {
                long n = agreed(callNs);
                callNs = calls(sum, in, out, count, n);
                warmNs += callNs * n;
            }
            long n = agreed(callNs);
            Series median = quietSeries(sum, in, out, count, n);
            check(sum, in, out, count);
            return median;
        }
    }

    private Series quietSeries(
            Runnable sum, MemorySegment in, MemorySegment out, long count, long n)
            throws IOException, InterruptedException {
        List<Series> all = new ArrayList<>();
        int quiet = 0;
        long since = System.nanoTime();
        while (all.size() < SERIES
                || (quiet < SERIES && library.maximum(System.nanoTime() - since) < PATIENCE_NS)) {
            double slow = slowed();
            double before = stolen();
            library.maximum(0);
            double ns = calls(sum, in, out, count, n);
            double taken = stolen() - before;
            double stolen = library.maximum(taken + slow + slowed());
            all.add(new Series(ns, stolen));
            if (stolen == 0) {
                quiet++;
            } else {
                Thread.sleep(PAUSE_MS);
                calls(sum, in, out, count, MIN_CALLS);
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

    /** 1 if the work takes longer than it has to, else 0. */
    private double slowed() {
        if (NEIGHBOUR == null) {
            return 0;
        }
        double took = Double.POSITIVE_INFINITY;
        for (int look = 0; look < LOOKS; look++) {
            long since = System.nanoTime();
            worked += work(library.rank());
            took = Math.min(took, System.nanoTime() - since);
        }
        leastWorkNs = Math.min(leastWorkNs, took);
        return took > SLOWED * leastWorkNs ? 1 : 0;
    }

    private static long work(long from) {
        long a = from;
        long b = 2;
        long c = 3;
        long d = 4;
        long e = 5;
        for (long i = 0; i < WORK; i++) {
            a += b ^ i;
            b += c ^ i;
            c += d ^ i;
            d += a ^ i;
            e ^= i * 3;
        }
        return a + b + c + d + e;
    }

    /**
     * Writes a word of every line of the input, calls, reads a word of every line of the output.
     */
    private double calls(Runnable sum, MemorySegment in, MemorySegment out, long count, long n) {
        long since = System.nanoTime();
        for (long call = 0; call < n; call++) {
            one(sum, in, out, count, (call & 7) + library.rank());
        }
        return (System.nanoTime() - since) / (double) n;
    }

    /** In a method of its own, since a loop that runs in main is compiled on the stack. */
    private void one(Runnable sum, MemorySegment in, MemorySegment out, long count, float value) {
        for (long i = 0; i < count; i += LINE_FLOATS) {
            in.setAtIndex(ValueLayout.JAVA_FLOAT, i, value);
        }
        sum.run();
        float read = 0;
        for (long i = 0; i < count; i += LINE_FLOATS) {
            read += out.getAtIndex(ValueLayout.JAVA_FLOAT, i);
        }
        seen = read;
    }

    private long agreed(double callNs) {
        return Math.clamp((long) (SERIES_NS / library.maximum(callNs)), MIN_CALLS, MAX_CALLS);
    }

    private void check(Runnable sum, MemorySegment in, MemorySegment out, long count) {
        int nRanks = library.ranks();
        for (long i = 0; i < count; i++) {
            in.setAtIndex(ValueLayout.JAVA_FLOAT, i, (i & 1023) + library.rank());
        }
        sum.run();
        for (long i = 0; i < count; i++) {
            float expected = nRanks * (i & 1023) + nRanks * (nRanks - 1) / 2f;
            float found = out.getAtIndex(ValueLayout.JAVA_FLOAT, i);
            if (found != expected) {
                throw new AssertionError("element " + i + " is " + found + ", not " + expected);
            }
        }
    }
}
