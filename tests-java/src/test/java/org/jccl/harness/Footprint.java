package org.jccl.harness;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/**
 * What this process holds of its system: descriptors by kind, threads by name, mappings by file,
 * resident memory, and what is alive in the heap.
 *
 * <p>Compiler threads come and go as the JVM likes and are not counted; JCCL's threads for jobs and
 * streams are made when needed, up to their bounds, whatever was there before. Mappings without a
 * file join their neighbours or split; a few more of them mean nothing, one for each communicator
 * does.
 *
 * @param counts how many there are of each kind
 * @param residentKb kilobytes of resident memory
 * @param heapKb kilobytes of the heap that are reachable
 */
public record Footprint(Map<String, Integer> counts, long residentKb, long heapKb) {
    private static final String ANONYMOUS = "mapping without a file";
    private static final int ANONYMOUS_SLACK = 24;
    private static final String JOB_THREAD = "thread jccl-job-";
    private static final String STREAM_THREAD = "thread jccl-stream-";
    private static final int MAX_JOB_THREADS = 4;
    private static final int MAX_STREAM_THREADS =
            Math.min(4, Runtime.getRuntime().availableProcessors());
    private static final long LIMIT_NS = TimeUnit.SECONDS.toNanos(20);
    private static final long LOOK_AGAIN_NS = 200_000_000;

    /** The process as it is. */
    public static Footprint now() {
        // First: looking at the heap loads a library.
        long heapKb = reachable();
        try {
            return new Footprint(counted(), resident(), heapKb);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Map<String, Integer> counted() throws IOException {
        Map<String, Integer> counts = new TreeMap<>();
        count(counts, descriptors());
        count(counts, threads());
        count(counts, mappings());
        return counts;
    }

    private static void count(Map<String, Integer> counts, List<String> names) {
        for (String name : names) {
            if (!name.isEmpty()) {
                counts.merge(name, 1, Integer::sum);
            }
        }
    }

    /** The names of the descriptors; empty for one that is gone since the directory was read. */
    private static List<String> descriptors() throws IOException {
        List<String> names = new ArrayList<>();
        for (Path each : list("/proc/self/fd")) {
            String name = "";
            try {
                name = "descriptor " + Files.readSymbolicLink(each).toString();
            } catch (NoSuchFileException closedMeanwhile) {
                name = "";
            }
            names.add(name.replaceAll("\\d+", ""));
        }
        return names;
    }

    private static List<String> threads() throws IOException {
        List<String> names = new ArrayList<>();
        for (Path each : list("/proc/self/task")) {
            String name = "";
            try {
                name = "thread " + Files.readString(each.resolve("comm")).strip();
            } catch (IOException endedMeanwhile) {
                name = "";
            }
            names.add(name.contains("CompilerThre") ? "" : name.replaceAll("\\d+", ""));
        }
        return names;
    }

    private static List<Path> list(String directory) throws IOException {
        try (Stream<Path> all = Files.list(Path.of(directory))) {
            return all.toList();
        }
    }

    private static List<String> mappings() throws IOException {
        List<String> names = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of("/proc/self/maps"))) {
            String[] words = line.split(" +", 6);
            boolean file = words.length == 6 && words[5].startsWith("/");
            names.add(file ? "mapping of " + words[5] : ANONYMOUS);
        }
        return names;
    }

    private static long resident() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmRSS:")) {
                return Long.parseLong(line.split(" +")[1]);
            }
        }
        throw new IllegalStateException("no VmRSS in /proc/self/status");
    }

    private static long reachable() {
        ManagementFactory.getMemoryMXBean().gc();
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed() >> 10;
    }

    /** Lists what there is more of than before, a line each, without the memory. */
    public List<String> growthSince(Footprint before) {
        List<String> growth = new ArrayList<>();
        counts.forEach(
                (name, count) -> {
                    int old = before.counts.getOrDefault(name, 0);
                    int allowed =
                            switch (name) {
                                case ANONYMOUS -> old + ANONYMOUS_SLACK;
                                case JOB_THREAD -> MAX_JOB_THREADS;
                                case STREAM_THREAD -> MAX_STREAM_THREADS;
                                default -> old;
                            };
                    if (count > allowed) {
                        growth.add(name + ": " + old + " before, now " + count);
                    }
                });
        return growth;
    }

    /**
     * The process once it holds no more than before, but for so many kilobytes, or some time later:
     * sockets linger until the other side has ended, too, and a compiler may be at work.
     */
    public static Footprint settled(Footprint before, long residentKb) {
        long end = System.nanoTime() + LIMIT_NS;
        Footprint now = now();
        while ((!now.growthSince(before).isEmpty()
                        || now.residentKb - before.residentKb >= residentKb)
                && System.nanoTime() - end < 0) {
            LockSupport.parkNanos(LOOK_AGAIN_NS);
            now = now();
        }
        return now;
    }
}
