import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import java.io.BufferedReader;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.channels.FileChannel;
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
    private static final int TRIPS = 200;
    private static final int TRIP_LOOKS = 10;
    private static final int WORDS_BYTES = 4096;
    private static final double APART = 1.5;
    private static final VarHandle WORD = ValueLayout.JAVA_LONG.varHandle();

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

    /**
     * Time of a call, the hundredths of a second that the host stole meanwhile, and what a word
     * took between two ranks' cores and back.
     */
    private record Series(double ns, double stolen, double tripNs) {}

    private final Library library;

    /** Written after each call so that the reads of the output are not optimised away. */
    private float seen;

    /** Written after the work likewise. */
    private long worked;

    private double leastWorkNs = Double.POSITIVE_INFINITY;
    private double leastTripNs = Double.POSITIVE_INFINITY;

    /** Two ranks' words, half of it each; null if there are more, or nothing is to be watched. */
    private MemorySegment words;

    private long turn;

    Measure(Library library) {
        this.library = library;
    }

    /**
     * Measures sizes in bytes; rank 0 prints "size microseconds stolen trip", a line each.
     *
     * @param sizes the arguments of the program from {@code first} on
     */
    List<Report.Figure> all(String[] sizes, int first) throws IOException, InterruptedException {
        Path kept = NEIGHBOUR == null ? null : Path.of(NEIGHBOUR, "java-" + library.rank());
        if (kept != null && Files.exists(kept)) {
            leastWorkNs = Double.parseDouble(Files.readString(kept));
        }
        if (kept != null && library.ranks() == 2) {
            beginWords(Path.of(NEIGHBOUR, "words"));
        }
        List<Report.Figure> figures = new ArrayList<>();
        for (int i = first; i < sizes.length; i++) {
            long bytes = Long.parseLong(sizes[i]);
            Series median = measure(bytes);
            if (library.rank() == 0) {
                double us = median.ns() / 1000;
                System.out.printf(
                        "%d %.4f %.0f %.0f%n", bytes, us, median.stolen(), median.tripNs());
                figures.add(new Report.Figure(bytes, us, median.stolen(), median.tripNs()));
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
            double trip = lookAtTrip();
            double slow = slowed() + apart(trip);
            double before = stolen();
            library.maximum(0);
            double ns = calls(sum, in, out, count, n);
            double taken = stolen() - before;
            double after = lookAtTrip();
            double stolen = library.maximum(taken + slow + slowed() + apart(after));
            all.add(new Series(ns, stolen, Math.max(trip, after)));
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
        double trip = least.stream().mapToDouble(Series::tripNs).max().orElseThrow();
        return new Series(least.get(SERIES / 2).ns(), most, trip);
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

    /** All ranks call it before any of them goes on. */
    private void beginWords(Path path) throws IOException {
        try (FileChannel file = FileChannel.open(path, CREATE, READ, WRITE)) {
            words = file.map(FileChannel.MapMode.READ_WRITE, 0, WORDS_BYTES, Arena.global());
        }
        WORD.setRelease(words, at(library.rank()), 0L);
        library.maximum(0);
    }

    private static long at(int rank) {
        return (long) rank * WORDS_BYTES / 2;
    }

    /** What a word takes to the other rank and back, in ns. */
    private double tripNs() {
        long own = at(library.rank());
        long other = at(1 - library.rank());
        boolean first = library.rank() == 0;
        long since = System.nanoTime();
        for (int trip = 0; trip < TRIPS; trip++) {
            turn++;
            if (first) {
                WORD.setRelease(words, own, turn);
            }
            while ((long) WORD.getAcquire(words, other) < turn) {
                // The other rank's turn.
            }
            if (!first) {
                WORD.setRelease(words, own, turn);
            }
        }
        return (System.nanoTime() - since) / (double) TRIPS;
    }

    /** The least of some; 0 if nobody looks. */
    private double lookAtTrip() {
        if (words == null) {
            return 0;
        }
        double took = Double.POSITIVE_INFINITY;
        for (int look = 0; look < TRIP_LOOKS; look++) {
            took = Math.min(took, tripNs());
        }
        leastTripNs = Math.min(leastTripNs, took);
        return took;
    }

    /** 1 if the cores of the two ranks are further apart than they have been, else 0. */
    private double apart(double trip) {
        return trip > APART * leastTripNs ? 1 : 0;
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
