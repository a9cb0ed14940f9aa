package org.jccl.machine;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The record of one job; its ranks share it, though their classes are not the same. */
public final class Journal {
    /**
     * What a rank reports.
     *
     * @param result the name of a code, or what else happened
     * @param text the sentence of an error
     * @param atNs when
     */
    public record Entry(int rank, int step, String result, String text, long atNs) {
        /** Whether it is an error of the library. */
        boolean failed() {
            return !NO_ERRORS.contains(result);
        }

        @Override
        public String toString() {
            String when = String.format("%.3f ms", atNs / 1e6);
            return when + " rank " + rank + " step " + step + ": " + result + " " + text;
        }
    }

    /** What ranks report besides errors. */
    private static final Set<String> NO_ERRORS = Set.of("DONE", "LEFT", "CHILD_ABORTED", "CLOSED");

    private static final int NOWHERE = -1;

    private final List<Entry> entries = new ArrayList<>();
    private final Map<Integer, Integer> reached = new HashMap<>();
    private byte @Nullable [] id;
    private boolean hopeless;
    private long struckNs;
    private long abortedNs;
    private int faultAt = NOWHERE;
    private int awaitedRank;
    private int awaitedStep;
    private @Nullable Runnable onReached;

    /** The unique id, which ranks give each other by other means. */
    public byte @Nullable [] id() {
        return id;
    }

    /** Gives it to the others. */
    public void id(byte[] bytes) {
        id = bytes;
    }

    /** Whether the rank that was to give the id died before it did. */
    public boolean hopeless() {
        return hopeless;
    }

    void giveUp() {
        hopeless = true;
    }

    /** A step has ended. */
    public void add(int rank, int step, String result, @Nullable String text) {
        Machine machine = Machine.current();
        entries.add(new Entry(rank, step, result, String.valueOf(text), machine.nowNs()));
        machine.note(rank + " " + step + " " + result);
    }

    /** Does something when a rank begins a step, or now if that is 0. */
    void when(int rank, int step, Runnable action) {
        if (step == 0) {
            action.run();
            return;
        }
        awaitedRank = rank;
        awaitedStep = step;
        onReached = action;
    }

    /** A rank begins a step; the one after the last is its end. */
    public void reached(int rank, int step) {
        reached.put(rank, step);
        Runnable action = onReached;
        if (action != null && rank == awaitedRank && step == awaitedStep) {
            onReached = null;
            action.run();
        }
    }

    /** The fault meets this rank where it is; a rank that has closed everything meets none. */
    public void meets(int rank) {
        boolean over =
                entries.stream()
                        .anyMatch(each -> each.rank() == rank && each.result().equals("CLOSED"));
        if (faultAt == NOWHERE && !over) {
            faultAt = reached.getOrDefault(rank, 0);
        }
    }

    /** The step in which the fault met its rank; negative if it met none. */
    int faultAt() {
        return faultAt;
    }

    /** The fault happens now. */
    public void struck() {
        struckNs = Machine.current().nowNs();
    }

    /** The abort by another thread has returned. */
    public void aborted() {
        abortedNs = Machine.current().nowNs();
    }

    long struckNs() {
        return struckNs;
    }

    long abortedNs() {
        return abortedNs;
    }

    List<Entry> entries() {
        return entries;
    }
}
