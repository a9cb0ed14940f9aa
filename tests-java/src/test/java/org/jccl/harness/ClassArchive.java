package org.jccl.harness;

import org.jccl.Communicator;
import org.jccl.type.DataType;
import org.jccl.type.RedOp;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * An archive of the classes that a process of ranks loads, with which its start takes two thirds of
 * the time of a processor. It has those of the JDK and of jars: classes in folders, as those of
 * these tests, cannot be archived. A JVM whose archive does not fit starts as it would without.
 */
final class ClassArchive {
    private static final Path FOLDER = Path.of("target");
    private static final int LIMIT_S = 60;

    /** So many ranks on two nodes have shared memory and TCP between them. */
    private static final int RANKS = 3;

    /** Made once; the first process waits for it. */
    private static final List<String> FLAGS = flagsOfAnArchive();

    /** What a process loads that lives an ordinary life. */
    public static final class Life implements Scenario {
        @Override
        public void run(Rank rank) {
            try (Communicator comm = rank.init();
                    Arena arena = Arena.ofConfined()) {
                for (long count : new long[] {1, 100_000}) {
                    MemorySegment data = arena.allocate(4 * count, 8);
                    comm.allReduce(data, data, count, DataType.FLOAT32, RedOp.SUM);
                }
            }
        }
    }

    private ClassArchive() {}

    /** Makes a process use it; empty if there is none. */
    static List<String> flags() {
        return FLAGS;
    }

    /** One process makes it, the others wait. Not every machine has a folder for it. */
    private static List<String> flagsOfAnArchive() {
        if (!Files.isDirectory(FOLDER)) {
            return List.of();
        }
        try (FileChannel lock =
                FileChannel.open(
                        FOLDER.resolve("ranks.lock"),
                        StandardOpenOption.CREATE,
                        StandardOpenOption.WRITE)) {
            lock.lock();
            Path archive = FOLDER.resolve("ranks-" + fingerprint() + ".jsa").toAbsolutePath();
            if (!Files.exists(archive)) {
                make(archive);
            }
            return Files.exists(archive) ? List.of("-XX:SharedArchiveFile=" + archive) : List.of();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return List.of();
        }
    }

    /** An archive fits jars with these names, lengths and times alone. */
    private static String fingerprint() throws IOException {
        StringBuilder facts = new StringBuilder(System.getProperty("java.home"));
        facts.append(System.getProperty("java.vm.version"));
        for (String jar : RankProcess.jars()) {
            Path file = Path.of(jar);
            facts.append(jar).append(Files.size(file)).append(Files.getLastModifiedTime(file));
        }
        return Integer.toHexString(facts.toString().hashCode());
    }

    private static void make(Path archive) throws IOException, InterruptedException {
        try (DirectoryStream<Path> all = Files.newDirectoryStream(FOLDER, "ranks-*")) {
            for (Path old : all) {
                Files.deleteIfExists(old);
            }
        }
        Path made = Path.of(archive + ".new");
        Path classes = Path.of(archive + ".classes");
        Path board = Files.createTempDirectory("jccl-cluster");
        String job =
                new RankMain.Job(
                                0,
                                true,
                                board.toString(),
                                0,
                                RANKS,
                                RANKS,
                                2,
                                Life.class.getName(),
                                List.of())
                        .line();
        run(RankProcess.command(List.of("-XX:DumpLoadedClassList=" + classes)), job);
        List<String> dump = new ArrayList<>(RankProcess.java());
        dump.add("-Xshare:dump");
        dump.add("-XX:SharedClassListFile=" + classes);
        dump.add("-XX:SharedArchiveFile=" + made);
        dump.addAll(List.of("-cp", String.join(":", RankProcess.jars())));
        run(dump, "");
        Files.deleteIfExists(classes);
        try (Stream<Path> notes = Files.walk(board)) {
            for (Path note : notes.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(note);
            }
        }
        if (Files.exists(made)) {
            Files.move(made, archive, StandardCopyOption.ATOMIC_MOVE);
        }
    }

    private static void run(List<String> command, String input)
            throws IOException, InterruptedException {
        Process process =
                new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                        .start();
        process.getOutputStream().write((input + "\n").getBytes(StandardCharsets.UTF_8));
        process.getOutputStream().flush();
        if (!process.waitFor(LIMIT_S, TimeUnit.SECONDS)) {
            process.destroyForcibly().waitFor();
        }
    }
}
