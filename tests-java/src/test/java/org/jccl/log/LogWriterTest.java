package org.jccl.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.jccl.Communicator;
import org.junit.jupiter.api.Test;

import java.io.BufferedReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** No call waits for the reader of the log. */
class LogWriterTest {
    /** More than fits into a pipe and the queue behind it. */
    private static final int MANY = 20_000;

    /** Each of two ranks says three lines. */
    private static final int LINES_OF_ABORTS = 6;

    private static final double ABORT_S = 1;
    private static final double FAREWELL_S = 1;
    private static final Pattern LOST = Pattern.compile("(\\d+) lines of the log are lost");

    @Test
    void abortReturnsInTimeWhenStandardOutputIsFull() throws Exception {
        Process process = start(Aborts.class);
        try (BufferedReader said = process.errorReader();
                BufferedReader log = process.inputReader()) {
            double seconds = Double.parseDouble(said.readLine());
            assertTrue(seconds < ABORT_S, seconds + " s");
            process.outputWriter().close();
            List<String> lines = log.lines().toList();
            int next = 0;
            int lost = 0;
            for (String line : lines) {
                Matcher gap = LOST.matcher(line);
                if (gap.find()) {
                    lost += Integer.parseInt(gap.group(1));
                } else if (line.contains(" number ")) {
                    assertTrue(line.endsWith(" number " + next), line);
                    next++;
                }
                assertFalse(line.contains("Abort"), "the pipe was not full");
            }
            assertTrue(next > 100, next + " lines");
            assertEquals(MANY + LINES_OF_ABORTS, next + lost);
            assertTrue(lines.getLast().endsWith("goes on"), lines.getLast());
            assertEquals(0, process.waitFor());
        } finally {
            process.destroyForcibly();
        }
    }

    /** JCCL's farewell waits for the last lines, and then the JVM's. */
    @Test
    void endOfTheProcessWaitsOnceWhenStandardOutputIsFull() throws Exception {
        Process process = start(Ends.class);
        try (BufferedReader said = process.errorReader()) {
            double first = Double.parseDouble(said.readLine());
            double second = Double.parseDouble(said.readLine());
            assertTrue(first >= FAREWELL_S, first + " s: the pipe was not full");
            assertTrue(second < FAREWELL_S / 2, second + " s");
        } finally {
            process.destroyForcibly();
        }
    }

    private static Process start(Class<?> program) throws Exception {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-cp"));
        String path = System.getProperty("surefire.test.class.path");
        command.add(path != null ? path : System.getProperty("java.class.path"));
        command.add(program.getName());
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().put("NCCL_DEBUG", "INFO");
        builder.environment().put("NCCL_DEBUG_SUBSYS", "INIT,DESTROY");
        return builder.start();
    }

    /** Aborts while nobody reads its standard output; says how long it took; then goes on. */
    static final class Aborts {
        private Aborts() {}

        public static void main(String[] args) throws Exception {
            List<Communicator> comms = Communicator.initAll(2);
            for (int i = 0; i < MANY; i++) {
                Log.info(Subsystem.INIT, "number " + i);
            }
            long before = System.nanoTime();
            for (Communicator comm : comms) {
                comm.abort();
            }
            System.err.write(((System.nanoTime() - before) / 1e9 + "\n").getBytes(UTF_8));
            System.err.flush();
            System.in.read();
            Log.flush();
            Log.info(Subsystem.INIT, "goes on");
        }
    }

    /** Says how long the two waits for its last lines took. */
    static final class Ends {
        private Ends() {}

        public static void main(String[] args) throws Exception {
            for (int i = 0; i < MANY; i++) {
                Log.info(Subsystem.INIT, "number " + i);
            }
            for (int i = 0; i < 2; i++) {
                long before = System.nanoTime();
                Log.flush();
                System.err.write(((System.nanoTime() - before) / 1e9 + "\n").getBytes(UTF_8));
            }
            System.err.flush();
            System.in.read();
        }
    }
}
