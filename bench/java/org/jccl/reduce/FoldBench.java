package org.jccl.reduce;

import org.jccl.type.DataType;
import org.jccl.type.RedOp;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Times sums of two and of four sources: C, the vector and the staged variant and the door, in
 * turns in one process, and prints GB/s (bytes read and written) or, for tiny calls, nanoseconds.
 *
 * <p>Usage: FoldBench libfold.so [rounds]
 */
public final class FoldBench {
    private static final long MAX_BYTES = 64L << 20;
    private static final long[] SIZES = {4096, 65536, 1 << 20, 8 << 20, 64 << 20};
    private static final long[] TINY = {8, 16, 56, 128, 512, 1024};
    private static final DataType[] TYPES = {
        DataType.FLOAT32,
        DataType.BFLOAT16,
        DataType.INT64,
        DataType.FLOAT16,
        DataType.FLOAT64,
        DataType.INT32,
        DataType.UINT8
    };

    private interface Call {
        void run(long dst, long[] sources, long count) throws Throwable;
    }

    private static final VectorFold VECTOR = new VectorFold();

    private static final Fold STAGED =
            (type, op, dst, sources, n, count) ->
                    Reductions.staged(Reductions.pair(type, op)).fold(dst, sources, n, n, 0, count);

    /** At most 16 elements at a time, which are folded one by one. */
    private static final Fold SCALAR =
            (type, op, dst, sources, n, count) -> {
                StagedKernel kernel = Reductions.staged(Reductions.pair(type, op));
                for (long first = 0; first < count; first += StagedKernel.ONE_BY_ONE) {
                    long end = Math.min(first + StagedKernel.ONE_BY_ONE, count);
                    kernel.fold(dst, sources, n, n, first, end);
                }
            };

    private record Column(String name, Call call) {}

    private final SymbolLookup library;
    private final int rounds;
    private final long dst;
    private final long[] sources = new long[4];

    private FoldBench(SymbolLookup library, int rounds, Arena arena) {
        this.library = library;
        this.rounds = rounds;
        this.dst = buffer(arena);
        for (int k = 0; k < sources.length; k++) {
            sources[k] = buffer(arena);
        }
    }

    /** Runs the benchmark. */
    public static void main(String[] args) throws Throwable {
        int rounds = args.length > 1 ? Integer.parseInt(args[1]) : 15;
        try (Arena arena = Arena.ofConfined()) {
            SymbolLookup library = SymbolLookup.libraryLookup(Path.of(args[0]), arena);
            FoldBench bench = new FoldBench(library, rounds, arena);
            bench.warm();
            System.out.println(
                    "| sum of | bytes | C GB/s | vector | staged | door | door/C time |");
            System.out.println("|---|---|---|---|---|---|---|");
            for (int n = 2; n <= 4; n += 2) {
                for (DataType type : TYPES) {
                    bench.large(type, n);
                }
            }
            System.out.println(
                    "\n| tiny sum of 2 | bytes | C ns | scalar | vector | staged | door |");
            System.out.println("|---|---|---|---|---|---|---|");
            for (DataType type : TYPES) {
                bench.tiny(type);
            }
        }
    }

    private void warm() throws Throwable {
        for (DataType type : TYPES) {
            for (int n = 2; n <= 4; n += 2) {
                for (int call = 0; call < 2000; call++) {
                    Reductions.fold(type.number(), 0, dst, sources, n, 4096);
                }
            }
        }
        System.out.println("warm: " + Warmup.await(60_000));
    }

    private void large(DataType type, int n) throws Throwable {
        List<Column> columns = new ArrayList<>();
        columns.add(c(type, n));
        columns.add(variant("vector", VECTOR, type, n));
        columns.add(variant("staged", STAGED, type, n));
        columns.add(variant("door", Reductions::fold, type, n));
        for (long bytes : SIZES) {
            double[] ns = time(columns, bytes, bytes / type.sizeBytes(), n == 2 ? 1 : 2);
            System.out.printf(
                    Locale.ROOT,
                    "| %d %s | %s | %.0f | %.0f | %.0f | **%.0f** | %.2f |%n",
                    n,
                    type.name().toLowerCase(Locale.ROOT),
                    text(bytes),
                    (n + 1) * bytes / ns[0],
                    (n + 1) * bytes / ns[1],
                    (n + 1) * bytes / ns[2],
                    (n + 1) * bytes / ns[3],
                    ns[3] / ns[0]);
        }
    }

    private void tiny(DataType type) throws Throwable {
        List<Column> columns = new ArrayList<>();
        columns.add(c(type, 2));
        columns.add(variant("scalar", SCALAR, type, 2));
        columns.add(variant("vector", VECTOR, type, 2));
        columns.add(variant("staged", STAGED, type, 2));
        columns.add(variant("door", Reductions::fold, type, 2));
        for (long bytes : TINY) {
            double[] ns = time(columns, bytes, bytes / type.sizeBytes(), 1);
            System.out.printf(
                    Locale.ROOT,
                    "| %s | %s | %.1f | %.1f | %.1f | %.1f | **%.1f** |%n",
                    type.name().toLowerCase(Locale.ROOT),
                    text(bytes),
                    ns[0],
                    ns[1],
                    ns[2],
                    ns[3],
                    ns[4]);
        }
    }

    /** Nanoseconds of one call by column, the least of all rounds: other load only adds. */
    private double[] time(List<Column> columns, long bytes, long count, int divisor)
            throws Throwable {
        double[] best = new double[columns.size()];
        java.util.Arrays.fill(best, Double.MAX_VALUE);
        long calls = Math.max(1, Math.min(20_000, (8 << 20) / bytes / divisor));
        for (int round = 0; round < rounds + 5; round++) {
            for (int column = 0; column < best.length; column++) {
                double ns = series(columns.get(column).call(), count, calls) / (double) calls;
                best[column] = Math.min(best[column], ns);
            }
        }
        return best;
    }

    private long series(Call call, long count, long calls) throws Throwable {
        long begin = System.nanoTime();
        for (long i = 0; i < calls; i++) {
            call.run(dst, sources, count);
        }
        return System.nanoTime() - begin;
    }

    private static Column variant(String name, Fold fold, DataType type, int n) {
        int number = type.number();
        int sum = RedOp.SUM.number();
        return new Column(name, (d, s, count) -> fold.fold(number, sum, d, s, n, count));
    }

    private Column c(DataType type, int n) {
        String name = type.name().toLowerCase(Locale.ROOT) + "_" + n;
        ValueLayout word = ValueLayout.JAVA_LONG;
        FunctionDescriptor shape =
                n == 2
                        ? FunctionDescriptor.ofVoid(word, word, word, word)
                        : FunctionDescriptor.ofVoid(word, word, word, word, word, word);
        MemorySegment symbol = library.find(name).orElseThrow();
        MethodHandle handle = Linker.nativeLinker().downcallHandle(symbol, shape);
        if (n == 2) {
            return new Column(
                    "C",
                    (d, s, count) -> {
                        handle.invokeExact(d, s[0], s[1], count);
                    });
        }
        return new Column(
                "C",
                (d, s, count) -> {
                    handle.invokeExact(d, s[0], s[1], s[2], s[3], count);
                });
    }

    private static long buffer(Arena arena) {
        MemorySegment segment = arena.allocate(MAX_BYTES + 4096, 4096);
        // An ordinary number in every format.
        for (long at = 0; at < MAX_BYTES; at += 2) {
            segment.set(ValueLayout.JAVA_SHORT, at, (short) 0x3c01);
        }
        return segment.address();
    }

    private static String text(long bytes) {
        if (bytes >= 1 << 20) {
            return (bytes >> 20) + " MiB";
        }
        return bytes >= 1024 ? (bytes >> 10) + " KiB" : bytes + " B";
    }
}
