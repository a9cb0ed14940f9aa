package org.jccl.executor;

/**
 * The first operation of a lane that cannot go on: for which rank it waits, which word of that
 * rank's region must change, if known, and how long it has waited. A lane keeps one such object and
 * fills it whenever it cannot go on; a look at what is under way adds the times.
 *
 * <p>Used by the owner of the communicator only.
 */
public final class Blocked {
    private static final Task NONE = new Task();

    private int rank = -1;
    private long address;
    private long value;
    private Task task = NONE;

    /** For which call the task stood, see {@link Task#calls}. */
    private int call;

    /** When a look first found the operation here, by the clock of the looks; 0 if none has. */
    private long sinceNs;

    /** Since when it has not moved; below, where it is. */
    private long stuckSinceNs;

    private long position;

    /** When the next late warning is due. */
    private long warnAtNs;

    /** The rank, -1 if none is known. */
    public int rank() {
        return rank;
    }

    /** The address of a long that must change first, 0 if unknown. */
    public long address() {
        return address;
    }

    /** The value seen there. */
    public long value() {
        return value;
    }

    /** The operation. */
    public Task task() {
        return task;
    }

    /** Whether the call that was shown last is over. */
    public boolean ended() {
        return task.over() || call != task.calls();
    }

    /** Says that the lane waits for this. Returns false: the lane does not go on. */
    boolean on(int itsRank, long itsAddress, long seen) {
        rank = itsRank;
        address = itsAddress;
        value = seen;
        return false;
    }

    /** Like {@link #on} where the lane does not know what it waits for. */
    boolean unknown() {
        return on(-1, 0, 0);
    }

    /** Shows the operation that is first in the lane now. */
    public Blocked of(Task first) {
        if (task != first || call != first.calls()) {
            task = first;
            call = first.calls();
            sinceNs = 0;
        }
        return this;
    }

    /** Notes that a look finds the operation at this position. */
    public void look(long at, long nowNs, long warnAfterNs) {
        boolean first = sinceNs == 0;
        sinceNs = first ? nowNs : sinceNs;
        if (first || at != position) {
            position = at;
            stuckSinceNs = nowNs;
            warnAtNs = nowNs + warnAfterNs;
        }
    }

    /** How long the operation has been first in its lane. */
    public long waitedNs(long nowNs) {
        return sinceNs == 0 ? 0 : nowNs - sinceNs;
    }

    /** How long it has not moved. */
    public long stuckNs(long nowNs) {
        return sinceNs == 0 ? 0 : nowNs - stuckSinceNs;
    }

    /** When the next late warning is due. */
    public long warnAtNs() {
        return warnAtNs;
    }

    /** Notes that the user has been warned; the next warning comes after twice as long. */
    public void warned(long nowNs) {
        warnAtNs = nowNs + 2 * stuckNs(nowNs);
    }
}
