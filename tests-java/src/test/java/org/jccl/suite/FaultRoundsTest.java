package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.harness.Cluster;
import org.jccl.harness.Faults;
import org.jccl.harness.Host;
import org.jccl.harness.NetworkPair;
import org.jccl.harness.RankResult;
import org.jccl.harness.RunningCluster;
import org.jccl.type.NcclResult;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Rounds of a fault that a seed draws: every survivor returns within its limit with the right rank
 * and cause, the next job gives right results, and nothing is left. {@code JCCL_TEST_SEED} repeats
 * the round with that seed.
 */
final class FaultRoundsTest {
    private static final int ROUNDS = 8;
    private static final int MAX_FAILURES = 5;

    /** From here on the few rounds have every kind of fault, and one in every phase. */
    private static final long FIRST_SEED = 56_830_623_266_889L;

    private static final int STRESS_ROUNDS = 300;
    private static final int HOST_LOST_S = 3;
    private static final int INIT_TIMEOUT_S = 10;
    private static final int GIVE_UP_S = 120;
    private static final long SECOND_NS = 1_000_000_000L;
    private static final long DEATH_KNOWN_WITHIN_NS = 5 * SECOND_NS;

    /** The share of shortages in a long run that are met: a phase may not need what is short. */
    private static final double MET_AT_LEAST = 0.3;

    /**
     * How the others fail: by the victim's code, by its loss if they did not hear that, or late.
     */
    private static final Set<NcclResult> TOLD =
            EnumSet.of(NcclResult.SYSTEM_ERROR, NcclResult.REMOTE_ERROR, NcclResult.TIMEOUT);

    private static NetworkPair wire;

    @BeforeAll
    static void openWire() {
        wire = NetworkPair.open();
    }

    @AfterAll
    static void closeWire() {
        wire.close();
    }

    @Test
    void everySurvivorReturnsAndTheNextJobStartsClean() {
        rounds(ROUNDS, FIRST_SEED);
    }

    @Test
    @Tag("stress")
    void everySurvivorReturnsInManyRounds() {
        rounds(STRESS_ROUNDS, System.nanoTime());
    }

    private static void rounds(int count, long firstSeed) {
        String given = System.getenv("JCCL_TEST_SEED");
        long first = given == null ? firstSeed : Long.parseLong(given);
        int n = given == null ? count : Integer.getInteger("jccl.test.rounds", 1);
        List<String> failures = new ArrayList<>();
        int shortages = 0;
        int met = 0;
        for (long seed = first; seed < first + n && failures.size() < MAX_FAILURES; seed++) {
            FaultPlan plan = FaultPlan.of(seed);
            long since = System.nanoTime();
            try {
                Round round = new Round(plan);
                round.run();
                shortages += plan.kind() == FaultPlan.Kind.SHORTAGE ? 1 : 0;
                met += round.met ? 1 : 0;
            } catch (RuntimeException | Error | InterruptedException e) {
                failures.add("JCCL_TEST_SEED=" + seed + " " + plan + ": " + e);
                System.out.println("FAILED " + plan);
            } finally {
                wire.heal();
            }
            System.out.printf("%s: %d ms%n", plan, (System.nanoTime() - since) / 1_000_000);
        }
        assertTrue(failures.isEmpty(), () -> String.join("\n\n", failures));
        System.out.println(met + " of " + shortages + " shortages were met");
        assertTrue(n < STRESS_ROUNDS || met >= MET_AT_LEAST * shortages);
    }

    private static final class Round {
        private final FaultPlan plan;
        private final Cluster cluster;
        private long sinceNs;
        private long stolenNs;

        /** Whether a shortage kept the victim from something. */
        private boolean met;

        Round(FaultPlan plan) {
            this.plan = plan;
            this.cluster =
                    Faults.preloaded(Cluster.namespaces(plan.nRanks(), wire))
                            .environment("JCCL_HOST_LOST", "" + HOST_LOST_S)
                            .environment("JCCL_INIT_TIMEOUT", "" + INIT_TIMEOUT_S)
                            .environment("JCCL_LATE_WARN", "0.3")
                            .environment("NCCL_SOCKET_IFNAME", "wire")
                            .environment("NCCL_DEBUG", "WARN")
                            .deadline(GIVE_UP_S);
        }

        void run() throws InterruptedException {
            try (RunningCluster running = cluster.start(FaultLife.class, plan.seed())) {
                switch (plan.kind()) {
                    case KILL -> killed(running);
                    case STOP -> stopped(running);
                    case SHORTAGE -> shortage(running);
                    case CLOCK -> running.await().assertAllSucceeded();
                    default -> partitioned(running);
                }
            }
            wire.heal();
            cluster.run(FaultLife.Next.class, plan.seed()).assertAllSucceeded();
        }

        private void killed(RunningCluster running) {
            assertEquals(RankResult.End.DIED, running.awaitEnd(plan.victim()).end());
            sinceNs = running.endedNs(plan.victim());
            stolenNs = Host.stolenNs();
            boolean needed = plan.phase().compareTo(FaultPlan.Phase.FINALIZE) < 0;
            for (int rank = 0; rank < plan.nRanks(); rank++) {
                if (rank == plan.victim()) {
                    continue;
                }
                RankResult end = running.awaitEnd(rank);
                if (end.end() == RankResult.End.SUCCEEDED && !needed) {
                    continue;
                }
                // Nobody can know of the death of a rank that has not come to the meeting. The rank
                // whose time ends first tells the others.
                boolean late = end.result() == NcclResult.TIMEOUT;
                boolean unknown = late || end.text().contains(" waited " + INIT_TIMEOUT_S + " s");
                assertTrue(
                        plan.phase() == FaultPlan.Phase.INIT
                                ? late || end.result() == NcclResult.REMOTE_ERROR
                                : !unknown && end.result() == NcclResult.REMOTE_ERROR,
                        end::toString);
                long limit = unknown ? INIT_TIMEOUT_S * SECOND_NS : 0;
                if (unknown) {
                    requireNamed(end, "" + plan.victim(), plan.victim() == 0);
                } else {
                    FaultCauses.requireDeath(end, plan);
                }
                requireInTime(running, rank, limit + DEATH_KNOWN_WITHIN_NS);
            }
        }

        private void requireNamed(RankResult end, String ranks, boolean root) {
            boolean named =
                    Pattern.compile("\\branks? [0-9, ]*\\b(" + ranks + ")\\b")
                            .matcher(end.text())
                            .find();
            boolean made = root && end.text().contains("process that made the unique id");
            assertTrue(named || made, () -> "rank " + ranks + " is not named: " + end);
        }

        private void requireInTime(RunningCluster running, int rank, long limitNs) {
            long tookNs = running.endedNs(rank) - sinceNs - (Host.stolenNs() - stolenNs);
            assertTrue(tookNs < limitNs, () -> "rank " + rank + " took " + tookNs + " ns");
        }

        private void stopped(RunningCluster running) throws InterruptedException {
            int victim = plan.victim();
            while (running.endOf(victim) == null && !running.stopped(victim)) {
                Thread.sleep(1);
            }
            if (plan.phase() == FaultPlan.Phase.OPERATIONS) {
                Pattern late =
                        Pattern.compile("has waited .* for ranks? [0-9, ]*\\b" + victim + "\\b");
                long beganNs = System.nanoTime();
                while (!late.matcher(running.output()).find()) {
                    requireNobodyEnded(running);
                    boolean inTime = System.nanoTime() - beganNs < GIVE_UP_S * SECOND_NS;
                    assertTrue(inTime, () -> "nobody named rank " + victim + running.output());
                    Thread.sleep(5);
                }
            } else {
                Thread.sleep(300 + 10 * plan.delayMs());
            }
            running.cont(victim);
            running.await().assertAllSucceeded();
        }

        private void requireNobodyEnded(RunningCluster running) {
            for (int rank = 0; rank < plan.nRanks(); rank++) {
                RankResult end = running.endOf(rank);
                assertTrue(end == null, () -> "a rank ended while another was stopped: " + end);
            }
        }

        /**
         * All goes well in spite of it, or the victim fails and the others learn whose fault it is.
         */
        private void shortage(RunningCluster running) {
            RankResult own = running.awaitEnd(plan.victim());
            met = own.said().contains(FaultLife.MET);
            if (own.end() == RankResult.End.SUCCEEDED) {
                running.await().assertAllSucceeded();
                return;
            }
            own.assertFailed(NcclResult.SYSTEM_ERROR, "(errno " + plan.errno());
            assertTrue(met, "it failed without a reason");
            sinceNs = running.endedNs(plan.victim());
            stolenNs = Host.stolenNs();
            long limitNs = INIT_TIMEOUT_S * SECOND_NS + DEATH_KNOWN_WITHIN_NS;
            IntStream.range(0, plan.nRanks())
                    .filter(rank -> rank != plan.victim())
                    .forEach(
                            rank -> {
                                RankResult end = running.awaitEnd(rank);
                                assertEquals(RankResult.End.FAILED, end.end(), end::toString);
                                assertTrue(TOLD.contains(end.result()), end::toString);
                                requireNamed(end, "" + plan.victim(), plan.victim() == 0);
                                requireInTime(running, rank, limitNs);
                            });
        }

        /** The ranks of the other side. */
        private String there(int rank) {
            return IntStream.range(0, plan.nRanks())
                    .filter(other -> plan.side(other) != plan.side(rank))
                    .mapToObj(Integer::toString)
                    .collect(Collectors.joining("|"));
        }

        private void partitioned(RunningCluster running) throws InterruptedException {
            running.awaitAllSaid(plan.phase().name());
            boolean setup =
                    plan.phase() == FaultPlan.Phase.INIT || plan.phase() == FaultPlan.Phase.SPLIT;
            Thread.sleep(plan.delayMs() + (setup ? 0 : 50));
            sinceNs = System.nanoTime();
            stolenNs = Host.stolenNs();
            int side = plan.side(plan.victim());
            wire.cut(side);
            if (plan.kind() == FaultPlan.Kind.PARTITION) {
                wire.cut(1 - side);
            }
            for (int rank = 0; rank < plan.nRanks(); rank++) {
                RankResult end = running.awaitEnd(rank);
                boolean late = plan.phase() == FaultPlan.Phase.INIT;
                if (late && end.result() == NcclResult.TIMEOUT) {
                    assertTrue(end.text().contains("ncclCommInitRank"), end::toString);
                    requireInTime(running, rank, (INIT_TIMEOUT_S + 5) * SECOND_NS);
                    continue;
                }
                assertEquals(NcclResult.REMOTE_ERROR, end.result(), end::toString);
                if (late && end.text().contains(" waited " + INIT_TIMEOUT_S + " s")) {
                    requireNamed(end, there(rank), true);
                } else {
                    FaultCauses.requireCut(end, plan, rank);
                }
                requireInTime(running, rank, (2 * HOST_LOST_S + 5) * SECOND_NS);
            }
        }
    }
}
