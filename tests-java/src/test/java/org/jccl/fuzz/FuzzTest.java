package org.jccl.fuzz;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;

import org.jccl.bootstrap.BootstrapTargets;
import org.jccl.comm.CommTargets;
import org.jccl.executor.FifoTargets;
import org.jccl.harness.Deadline;
import org.jccl.launch.LaunchTargets;
import org.jccl.transport.TransportTargets;
import org.jccl.transport.net.NetTargets;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Everything that reads bytes from outside, fed with what nobody in his senses sends: it answers,
 * or refuses by one of its sentences, and neither takes long nor much memory.
 *
 * <p>A failure names seed and input. Inputs that show something new go into the corpus when the
 * tests run with {@code -Djccl.fuzz.corpus=tests-java/src/test/resources/fuzz}.
 */
@ExtendWith(Deadline.class)
final class FuzzTest {
    private static final int SHORT = Integer.getInteger("jccl.fuzz.inputs", 4_000);
    private static final int LONG = 1_000_000;

    /** The bytes that one input may allocate, whatever sizes it announces. */
    private static final long MOST_ALLOCATED = 1 << 20;

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    static List<FuzzTarget> targets() {
        return Stream.of(
                        BootstrapTargets.all(),
                        CommTargets.all(),
                        TransportTargets.all(),
                        NetTargets.all(),
                        FifoTargets.all(),
                        LaunchTargets.all())
                .flatMap(List::stream)
                .toList();
    }

    @ParameterizedTest
    @MethodSource("targets")
    void corpusBringsAboutEveryOutcome(FuzzTarget target) throws Exception {
        load(target);
        Set<String> seen = new TreeSet<>();
        for (Corpus.Entry entry : Corpus.of(target)) {
            String outcome = take(target, entry.input(), "corpus");
            assertEquals(entry.outcome(), outcome, entry::line);
            seen.add(outcome);
        }
        assertEquals(target.outcomes(), seen);
    }

    @ParameterizedTest
    @MethodSource("targets")
    void nothingUnexpectedComesOfWrongBytes(FuzzTarget target) throws Exception {
        attack(target, new Random().nextLong(), SHORT / target.cost());
    }

    @Test
    @Tag("stress")
    void nothingUnexpectedComesOfAMillionWrongInputs() throws Exception {
        double share = targets().stream().mapToDouble(target -> 1.0 / target.cost()).sum();
        int inputs = 0;
        for (FuzzTarget target : targets()) {
            int count = (int) Math.ceil(LONG / share / target.cost());
            attack(target, new Random().nextLong(), count);
            inputs += count;
        }
        assertTrue(inputs >= LONG, inputs + " inputs");
        System.out.println(inputs + " inputs were read by " + targets().size() + " readers");
    }

    /** Classes are loaded once, and that is not to be counted. */
    private static void load(FuzzTarget target) throws Exception {
        for (byte[] seed : target.seeds()) {
            target.outcome(seed.clone());
        }
    }

    private static void attack(FuzzTarget target, long seed, int inputs) throws Exception {
        load(target);
        List<byte[]> pool = new ArrayList<>(target.seeds());
        Set<String> seen = new HashSet<>();
        for (Corpus.Entry entry : Corpus.of(target)) {
            pool.add(entry.input());
            seen.add(entry.outcome());
        }
        Mutations mutations = new Mutations(new Random(seed), pool);
        for (int i = 0; i < inputs; i++) {
            byte[] input = i < target.seeds().size() ? target.seeds().get(i) : mutations.next();
            String outcome = take(target, input, "seed " + seed);
            if (seen.add(outcome)) {
                pool.add(input);
                Corpus.add(target, Corpus.Entry.of(outcome, input));
            }
        }
    }

    private static String take(FuzzTarget target, byte[] input, String origin) {
        long before = THREADS.getCurrentThreadAllocatedBytes();
        String outcome;
        try {
            outcome = target.outcome(input.clone());
        } catch (Exception | Error thrown) {
            throw new AssertionError(place(target, input, origin), thrown);
        }
        long allocated = THREADS.getCurrentThreadAllocatedBytes() - before;
        if (allocated > MOST_ALLOCATED) {
            throw new AssertionError(allocated + " bytes: " + place(target, input, origin));
        }
        return outcome;
    }

    private static String place(FuzzTarget target, byte[] input, String origin) {
        return target.name() + ", " + origin + ": " + HexFormat.of().formatHex(input);
    }
}
