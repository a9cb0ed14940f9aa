package org.jccl.simulation;

import java.util.ArrayDeque;

/** One direction between two ranks: frames arrive in order, some time after they were sent. */
final class Wire {
    private final ArrayDeque<Runnable> frames = new ArrayDeque<>();
    private final int bound;

    Wire(int bound) {
        this.bound = bound;
    }

    boolean hasRoom() {
        return frames.size() < bound;
    }

    boolean isEmpty() {
        return frames.isEmpty();
    }

    void send(Runnable arrival) {
        frames.add(arrival);
    }

    void deliver() {
        frames.remove().run();
    }
}
