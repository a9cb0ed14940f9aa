package org.jccl.simulation;

import java.util.Random;

/** Decides who moves next: a rank does one step, a wire delivers one frame. */
abstract class Interleaving {
    private final String name;

    private Interleaving(String name) {
        this.name = name;
    }

    /** Lets somebody move; false if nobody can. */
    abstract boolean turn(Simulation simulation);

    @Override
    public final String toString() {
        return name;
    }

    /** Anybody, with equal probability. */
    static Interleaving random(long seed) {
        Random random = new Random(seed);
        return new Interleaving("random, seed " + seed) {
            @Override
            boolean turn(Simulation simulation) {
                int all = simulation.nRanks() + simulation.busyWires();
                return tryFrom(simulation, random.nextInt(all), all) >= 0;
            }
        };
    }

    /** Somebody as long as it can, then somebody else. */
    static Interleaving bursts(long seed) {
        Random random = new Random(seed);
        return new Interleaving("bursts, seed " + seed) {
            private int running;

            @Override
            boolean turn(Simulation simulation) {
                if (running < simulation.nRanks() && simulation.advance(running)) {
                    return true;
                }
                int all = simulation.nRanks() + simulation.busyWires();
                running = tryFrom(simulation, random.nextInt(all), all);
                return running >= 0 || noOne();
            }

            private boolean noOne() {
                running = 0;
                return false;
            }
        };
    }

    /** Everybody in turn. */
    static Interleaving roundRobin() {
        return new Interleaving("round robin") {
            private int next;

            @Override
            boolean turn(Simulation simulation) {
                int all = simulation.nRanks() + simulation.busyWires();
                int moved = tryFrom(simulation, next % all, all);
                next = moved + 1;
                return moved >= 0;
            }
        };
    }

    /** This rank only when nobody else can move. */
    static Interleaving late(int rank) {
        return new Interleaving("rank " + rank + " late") {
            @Override
            boolean turn(Simulation simulation) {
                for (int i = 1; i < simulation.nRanks(); i++) {
                    if (simulation.advance((rank + i) % simulation.nRanks())) {
                        return true;
                    }
                }
                if (simulation.busyWires() > 0) {
                    simulation.deliver(0);
                    return true;
                }
                return simulation.advance(rank);
            }
        };
    }

    /** Nothing arrives before every rank is stuck; then the wire that was busy last. */
    static Interleaving lateWires() {
        return new Interleaving("wires late") {
            @Override
            boolean turn(Simulation simulation) {
                for (int r = 0; r < simulation.nRanks(); r++) {
                    if (simulation.advance(r)) {
                        return true;
                    }
                }
                if (simulation.busyWires() == 0) {
                    return false;
                }
                simulation.deliver(simulation.busyWires() - 1);
                return true;
            }
        };
    }

    private static int tryFrom(Simulation simulation, int start, int all) {
        for (int i = 0; i < all; i++) {
            int actor = (start + i) % all;
            if (actor >= simulation.nRanks()) {
                simulation.deliver(actor - simulation.nRanks());
                return actor;
            }
            if (simulation.advance(actor)) {
                return actor;
            }
        }
        return -1;
    }
}
