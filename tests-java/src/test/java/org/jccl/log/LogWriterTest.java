package org.jccl.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
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

/** Nobody waits for whoever reads the log. */
class LogWriterTest {
    /** More than fits into a pipe and the queue behind it. */
    private static final int MANY = 8_000;

    private static final double ABORT_S = 1;
    private static final Pattern LOST = Pattern.compile("(\\d+) lines of the log are lost");

    @Test
    void abortReturnsInTimeWhenStandardOutputIsFull() throws Exception {
        Process process = start();
        try (BufferedReader said = process.errorReader();
                BufferedReader log = process.inputReader()) {
            double seconds = Double.parseDouble(said.readLine());
            assertTrue(seconds < ABORT_S, seconds + " s");
            int next = 0;
            int lost = 0;
            for (String line; (line = log.readLine()) != null; ) {
                Matcher gap = LOST.matcher(line);
                int at = line.indexOf("number ");
                if (gap.find()) {
                    lost += Integer.parseInt(gap.group(1));
                } else if (at >= 0) {
                    assertEquals(next, Integer.parseInt(line.substring(at + 7)), line);
                    next++;
                } else if (line.contains("Abort COMPLETE")) {
                    throw new AssertionError("the pipe was not full");
                } else if (line.endsWith("goes on")) {
                    process.outputWriter().close();
                    break;
                }
                if (lost > 0 && said.ready()) {
                    continue;
                }
                if (lost > 0) {
                    process.outputWriter().write('\n');
                    process.outputWriter().flush();
                }
            }
            assertTrue(next > 100, next + " lines");
            // All lines of the abort are among those that were lost.
            assertTrue(next + lost >= MANY + 2 && next + lost < MANY + 20, next + " + " + lost);
            assertEquals(0, process.waitFor());
        } finally {
            process.destroyForcibly();
        }
    }

    private static Process start() throws Exception {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-cp"));
        String path = System.getProperty("surefire.test.class.path");
        command.add(path != null ? path : System.getProperty("java.class.path"));
        command.add(Aborts.class.getName());
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().put("NCCL_DEBUG", "INFO");
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
            Log.info(Subsystem.INIT, "goes on");
        }
    }
}
