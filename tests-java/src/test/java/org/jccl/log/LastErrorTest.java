package org.jccl.log;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** The last errors, written by several threads and read meanwhile. */
final class LastErrorTest {
    private static final int WRITERS = 4;
    private static final int TIMES = 20_000;

    @Test
    void isNeverAMixtureOfTwoTexts() throws InterruptedException {
        LastError.set("aaa");
        AtomicInteger running = new AtomicInteger(WRITERS);
        String torn = "";
        List<Thread> threads = new ArrayList<>();
        for (int w = 0; w < WRITERS; w++) {
            String letter = String.valueOf((char) ('a' + w));
            boolean ofThread = w % 2 == 0;
            threads.add(Thread.ofPlatform().start(() -> write(letter, ofThread, running)));
        }
        while (running.get() > 0) {
            String text = LastError.get();
            if (!text.equals(text.substring(0, 1).repeat(text.length()))) {
                torn = text;
            }
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals("", torn);
    }

    private static void write(String letter, boolean ofThread, AtomicInteger running) {
        for (int i = 0; i < TIMES; i++) {
            String text = letter.repeat(1 + i * 37 % 900);
            if (ofThread) {
                LastError.setForThread(text);
            } else {
                LastError.set(text);
            }
        }
        running.decrementAndGet();
    }

    @Test
    void holdsNewTextsForAnyNumberOfThreads() throws InterruptedException {
        for (int i = 0; i < 100; i++) {
            String text = "e".repeat(1 + i);
            Thread thread = Thread.ofPlatform().start(() -> LastError.setForThread(text));
            thread.join();
            assertEquals(text, LastError.get());
        }
    }
}
