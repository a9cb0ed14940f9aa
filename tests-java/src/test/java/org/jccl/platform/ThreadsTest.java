package org.jccl.platform;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** A thread that waits on a core that somebody else keeps busy. */
final class ThreadsTest {
    private static final int TURNS = 20;

    private Process busy;
    private String cores;

    @BeforeEach
    void shareACore() throws Exception {
        String status = Files.readString(Path.of("/proc/thread-self/status"));
        cores = status.split("Cpus_allowed_list:\\s*")[1].split("\n")[0];
        String core = cores.split("[-,]")[0];
        busy = new ProcessBuilder("taskset", "-c", core, "sh", "-c", "while :; do :; done").start();
        taskset(core);
    }

    @AfterEach
    void giveItBack() throws Exception {
        busy.destroyForcibly().waitFor();
        taskset(cores);
    }

    private static void taskset(String list) throws IOException, InterruptedException {
        Process done =
                new ProcessBuilder("taskset", "-cp", list, String.valueOf(Threads.id()))
                        .redirectErrorStream(true)
                        .start();
        String said = new String(done.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertTrue(done.waitFor() == 0, said);
    }

    private static long switches() throws IOException {
        String status = Files.readString(Path.of("/proc/thread-self/status"));
        return Long.parseLong(status.split("nonvoluntary_ctxt_switches:\\s*")[1].trim());
    }

    @Test
    void givesABusyCoreAwayOnceAndNotInEachTurn() throws Exception {
        switches();
        while (!Threads.yieldInCrowd(true)) {
            // Until the busy process has the core between.
        }
        long before = switches();
        for (int i = 0; i < TURNS; i++) {
            Threads.yieldInCrowd(true);
        }
        long given = switches() - before;
        assertTrue(given < TURNS / 2, "the core was given away " + given + " times");
    }
}
