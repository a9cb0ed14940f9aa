package org.jccl.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;

final class CoresTest {
    private static final int TURNS = 200;
    private static final int CASES = 5_000;

    @Test
    void threadKeepsToACoreAndOffIt() throws InterruptedException {
        assumeTrue(Runtime.getRuntime().availableProcessors() > 1, "there is one core only");
        int core = Cores.current();
        inThread(
                () -> {
                    Cores.keepTo(core);
                    for (int turn = 0; turn < TURNS; turn++) {
                        assertEquals(core, Cores.current());
                        Threads.yield();
                    }
                    Cores.keepOff(core);
                    for (int turn = 0; turn < TURNS; turn++) {
                        assertNotEquals(core, Cores.current());
                        Threads.yield();
                    }
                });
    }

    /** No process may use it. */
    @Test
    void coreThatThereIsNotChangesNothing() throws InterruptedException {
        int core = Cores.current();
        inThread(
                () -> {
                    Cores.keepTo(core);
                    for (int none : new int[] {-1, 1023, 1024}) {
                        Cores.keepTo(none);
                        for (int turn = 0; turn < TURNS; turn++) {
                            assertEquals(core, Cores.current());
                            Threads.yield();
                        }
                    }
                });
    }

    @Test
    void usableCoresAreThoseThatTheSystemTells() throws IOException {
        String status = Files.readString(Path.of("/proc/self/status"));
        String list = status.split("Cpus_allowed_list:\\s*")[1].split("\n")[0];
        BitSet allowed = new BitSet();
        for (String range : list.split(",")) {
            String[] ends = range.split("-");
            allowed.set(Integer.parseInt(ends[0]), Integer.parseInt(ends[ends.length - 1]) + 1);
        }
        BitSet usable = Cores.usable();
        int processors = Runtime.getRuntime().availableProcessors();
        assertEquals(Math.min(processors, allowed.cardinality()), usable.cardinality());
        usable.andNot(allowed);
        assertTrue(usable.isEmpty(), "not allowed: " + usable);
    }

    /** Against all ways to give cores to users. */
    @Test
    void usersHaveACoreEachIfThereIsAWay() {
        Random random = new Random(1);
        int found = 0;
        for (int turn = 0; turn < CASES; turn++) {
            List<BitSet> users = new ArrayList<>();
            for (int user = random.nextInt(1, 6); user > 0; user--) {
                int drawn = random.nextInt(1, 32);
                int two = Integer.highestOneBit(drawn) | Integer.lowestOneBit(drawn);
                users.add(BitSet.valueOf(new long[] {(long) two << turn % 60}));
            }
            boolean way = isThereAWay(users, 0, new BitSet());
            assertEquals(way, Cores.oneForEach(users), users.toString());
            found += way ? 1 : 0;
        }
        assertTrue(found > CASES / 10 && found < CASES * 9 / 10, found + " ways");
    }

    private static boolean isThereAWay(List<BitSet> users, int user, BitSet taken) {
        return user == users.size()
                || users.get(user).stream()
                        .filter(core -> !taken.get(core))
                        .anyMatch(
                                core -> {
                                    BitSet more = (BitSet) taken.clone();
                                    more.set(core);
                                    return isThereAWay(users, user + 1, more);
                                });
    }

    /** As many as there may be, the last of which has only the core that all others prefer. */
    @Test
    void thousandUsersAreMovedForTheLastOne() {
        List<BitSet> users = new ArrayList<>();
        for (int user = 0; user < Cores.MOST; user++) {
            BitSet two = new BitSet();
            two.set(user, Math.min(user + 2, Cores.MOST));
            users.add(two);
        }
        BitSet first = new BitSet();
        first.set(0);
        users.set(Cores.MOST - 1, first);
        assertTrue(Cores.oneForEach(users));
        users.set(1, first);
        assertFalse(Cores.oneForEach(users));
    }

    /** The test's own thread keeps its freedom. */
    private static void inThread(Runnable body) throws InterruptedException {
        AtomicReference<Throwable> failure = new AtomicReference<>();
        Thread thread = Thread.ofPlatform().unstarted(body);
        thread.setUncaughtExceptionHandler((failed, cause) -> failure.set(cause));
        thread.start();
        thread.join();
        assertEquals(null, failure.get());
    }
}
