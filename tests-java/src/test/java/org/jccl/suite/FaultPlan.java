package org.jccl.suite;

import org.jccl.harness.Faults;

import java.util.Random;

/**
 * What happens in one round of faults; a seed draws it.
 *
 * @param links what carries the data
 * @param victim the rank to which it happens; for a partition the first rank that cannot send
 * @param nth at which of the counted system calls
 * @param delayMs how long after the phase began, for a partition
 * @param errno with what the call fails; of a clock, by how many seconds it jumps
 */
record FaultPlan(
        long seed,
        int nRanks,
        Links links,
        Kind kind,
        Phase phase,
        int victim,
        int nth,
        int delayMs,
        Faults.Calls calls,
        int errno) {
    /** Kinds of faults. */
    enum Kind {
        KILL,
        STOP,
        SHORTAGE,
        CLOCK,
        HALF_PARTITION,
        PARTITION;

        boolean cuts() {
            return this == HALF_PARTITION || this == PARTITION;
        }
    }

    /** Where in a communicator's life. */
    enum Phase {
        INIT,
        OPERATIONS,
        SPLIT,
        CHILD,
        FINALIZE,
        DESTROY
    }

    /** The ways by which the data travels. */
    enum Links {
        SHARED_MEMORY,
        TCP,
        BOTH;

        /** The node that a rank says it is on. */
        String node(int rank, int nRanks) {
            return switch (this) {
                case SHARED_MEMORY -> "one";
                case TCP -> "node" + rank;
                case BOTH -> "side" + side(rank, nRanks);
            };
        }
    }

    private static final int YEAR_S = 365 * 24 * 3600;
    private static final int ENOMEM = 12;
    private static final int EACCES = 13;
    private static final int EMFILE = 24;
    private static final int ENOSPC = 28;
    private static final int ENOSYS = 38;

    static FaultPlan of(long seed) {
        Random random = new Random(seed);
        int nRanks = 4 + random.nextInt(5);
        Links links = pick(random, Links.values());
        Kind kind = kind(random.nextInt(20));
        Phase phase = pick(random, Phase.values());
        int victim = random.nextInt(nRanks);
        Faults.Calls calls = Faults.Calls.ANY;
        int errno = 0;
        int nth = 1 + random.nextInt(phase == Phase.INIT ? 120 : 40);
        if (kind.cuts()) {
            links = random.nextBoolean() ? Links.TCP : Links.BOTH;
            phase = pick(random, Phase.INIT, Phase.OPERATIONS, Phase.SPLIT, Phase.CHILD);
            victim = random.nextBoolean() ? 0 : nRanks - 1;
        }
        if (kind == Kind.SHORTAGE) {
            phase = pick(random, Phase.INIT, Phase.OPERATIONS, Phase.SPLIT);
            calls =
                    pick(
                            random,
                            Faults.Calls.DESCRIPTORS,
                            Faults.Calls.MEMORY,
                            Faults.Calls.SHARED);
            errno =
                    switch (calls) {
                        case DESCRIPTORS -> EMFILE;
                        case MEMORY -> random.nextBoolean() ? ENOMEM : ENOSPC;
                        default -> random.nextBoolean() ? EACCES : ENOSYS;
                    };
            nth = 1 + random.nextInt(phase == Phase.OPERATIONS ? 2 : 12);
        }
        if (kind == Kind.CLOCK) {
            errno = random.nextBoolean() ? YEAR_S : -YEAR_S;
        }
        int delayMs = random.nextInt(50);
        return new FaultPlan(seed, nRanks, links, kind, phase, victim, nth, delayMs, calls, errno);
    }

    private static Kind kind(int of20) {
        if (of20 < 8) {
            return Kind.KILL;
        }
        if (of20 < 12) {
            return Kind.STOP;
        }
        if (of20 < 16) {
            return Kind.SHORTAGE;
        }
        return of20 < 17 ? Kind.CLOCK : of20 < 19 ? Kind.HALF_PARTITION : Kind.PARTITION;
    }

    @SafeVarargs
    private static <T> T pick(Random random, T... all) {
        return all[random.nextInt(all.length)];
    }

    /** Whether operations go on until the fault ends them. */
    boolean endless(Phase now) {
        boolean first = phase == Phase.INIT || phase == Phase.OPERATIONS;
        return kind.cuts() && now == (first ? Phase.OPERATIONS : Phase.CHILD);
    }

    /** The namespace of a rank, one of two, as in {@code Cluster}. */
    static int side(int rank, int nRanks) {
        return rank * 2 / nRanks;
    }

    int side(int rank) {
        return side(rank, nRanks);
    }

    /** Begins the victim's fault in its phase. */
    void arm(int rank, Phase now) {
        if (rank == victim && now == phase && kind == Kind.CLOCK) {
            Faults.jumpSeconds(errno);
        } else if (rank == victim && now == phase && !kind.cuts()) {
            Faults.Action action =
                    switch (kind) {
                        case KILL -> Faults.Action.KILL;
                        case STOP -> Faults.Action.STOP;
                        default -> Faults.Action.FAIL;
                    };
            int times = kind == Kind.SHORTAGE ? Faults.LASTING : 1;
            Faults.arm(action, calls, nth, errno, times);
        }
    }

    /**
     * Ends the victim's fault with its phase; one that was not met yet is met now, but for a
     * shortage.
     *
     * @return whether that was a shortage that was met
     */
    boolean disarm(int rank, Phase now) {
        if (rank != victim || now != phase || kind.cuts()) {
            return false;
        }
        if (kind == Kind.CLOCK) {
            Faults.jumpSeconds(-errno);
            return false;
        }
        boolean met = Faults.disarm() > 0;
        if (met && kind == Kind.KILL) {
            Faults.awaitDeath();
        }
        if (!met && kind != Kind.SHORTAGE) {
            Faults.arm(
                    kind == Kind.KILL ? Faults.Action.KILL : Faults.Action.STOP,
                    Faults.Calls.ANY,
                    1,
                    0,
                    1);
            Faults.touch();
        }
        return met && kind == Kind.SHORTAGE;
    }
}
