package org.jccl.comm;

import org.jccl.bootstrap.Exchange;
import org.jccl.log.Log;
import org.jccl.param.Params;
import org.jccl.platform.WatchedTime;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.Sentence;
import org.jccl.type.Unforeseen;
import org.jspecify.annotations.Nullable;

/** The common part of init and split: meet, connect, confirm, with a time limit. */
abstract class SetupJob implements Job {
    private static final long NS_PER_MS = 1_000_000L;

    /** The communicator that is being made. */
    protected final Comm comm;

    /** The communicator whose ranks meet, and whose end stops the job. */
    final Comm meeting;

    /** The call in sentences. */
    final String what;

    private final long limitNs = Params.INIT_TIMEOUT.get() * NS_PER_MS;
    private final WatchedTime waited = new WatchedTime();
    private long warnAfterNs = Params.LATE_WARN.get() * NS_PER_MS;
    private @Nullable Rounds rounds;
    private @Nullable Setup setup;
    private boolean opened;
    private boolean met;
    private @Nullable NcclException failed;

    SetupJob(Comm comm, Comm meeting, String what) {
        this.comm = comm;
        this.meeting = meeting;
        this.what = what;
    }

    /** The exchange to meet through. */
    protected abstract Exchange open();

    /**
     * Learns who takes part, and calls {@link #setup} unless this rank joins nobody.
     *
     * @return whether it has come so far
     */
    protected abstract boolean meet();

    /** Whether the exchange was opened, or was to be, and has not finished so many rounds. */
    protected final boolean cutShort(int all) {
        Rounds open = rounds;
        return opened && (open == null || open.finished != all);
    }

    /**
     * Nobody can run the job: it has failed as if in its first step, since the other ranks may have
     * begun and wait for this one.
     */
    final NcclException unstartable(Throwable t) {
        opened = true;
        return Unforeseen.of(t, "in " + what).on(meeting.identity());
    }

    protected final Rounds rounds() {
        Rounds open = rounds;
        if (open == null) {
            throw new IllegalStateException("no exchange");
        }
        return open;
    }

    protected final void setup(Setup.Members members) {
        comm.met(members);
        Setup next = new Setup(rounds(), members, comm.rank());
        setup = next;
        next.begin();
    }

    @Override
    public final boolean advance() {
        NcclException.throwIfAny(meeting.stopRequest());
        if (!opened) {
            opened = true;
            rounds = new Rounds(open());
        }
        long waitedNs = waited.lookNs();
        if (limitNs > 0 && waitedNs > limitNs) {
            throw ErrorKind.INIT_TIMEOUT.says(
                    "rank %s waited %s in %s for %s; were all started? (JCCL_INIT_TIMEOUT sets the"
                            + " limit in seconds)",
                    meeting.rank(), time(limitNs), what, awaited());
        }
        // A split's wait for others is an operation of the parent, which warns by itself.
        if (meeting == comm && warnAfterNs > 0 && waitedNs > warnAfterNs) {
            warnAfterNs = 2 * waitedNs;
            Log.warn(
                    Sentence.of(
                            "rank %s has waited %s in %s for %s",
                            meeting.rank(), time(waitedNs), what, awaited()));
        }
        met = met || meet();
        return met && advanceSetup();
    }

    private boolean advanceSetup() {
        Setup connecting = setup;
        if (connecting == null) {
            return advanceWithoutSetup();
        }
        try {
            if (!connecting.advance()) {
                return false;
            }
        } catch (NcclException e) {
            failed = e;
            setup = null;
            giveUp(connecting);
            return advanceWithoutSetup();
        }
        comm.connected(connecting);
        return true;
    }

    private boolean advanceWithoutSetup() {
        NcclException why = failed;
        try {
            if (!restOfRounds()) {
                return false;
            }
        } catch (NcclException after) {
            throw why == null ? after : why;
        }
        NcclException.throwIfAny(why);
        return true;
    }

    /**
     * The job has failed. If this rank is connected, the others may be ready and wait for it: it
     * tells them, as the rank of a communicator that ends.
     */
    private void giveUp(Setup connecting) {
        boolean connected = connecting.connected();
        if (connected) {
            comm.connected(connecting);
        }
        connecting.close(connected);
    }

    /** For a participant that is no member, or has failed: takes part in what remains. */
    protected boolean restOfRounds() {
        return true;
    }

    private static String time(long ns) {
        return ns < 1000 * NS_PER_MS ? ns / NS_PER_MS + " ms" : ns / (1000 * NS_PER_MS) + " s";
    }

    private String awaited() {
        Setup connecting = setup;
        String unreachable = rounds().exchange.unreachable();
        if (unreachable != null) {
            return unreachable;
        }
        int[] missing = connecting != null ? connecting.missing() : rounds().exchange.missing();
        String who = missing.length == 0 ? "the others" : Sentence.ranks(missing);
        return who + " of " + meeting.nRanks() + " ranks";
    }

    @Override
    public final void awaitActivity(int maxMs) {
        Setup connecting = setup;
        Rounds open = rounds;
        if (connecting != null) {
            connecting.awaitActivity(maxMs);
        } else if (open != null) {
            open.exchange.awaitActivity(maxMs);
        }
    }

    @Override
    public void ended(@Nullable NcclException why) {
        try {
            Setup connecting = setup;
            if (connecting != null && why == null) {
                connecting.close(true);
            } else if (connecting != null) {
                giveUp(connecting);
            }
            Rounds open = rounds;
            if (open != null) {
                if (why != null) {
                    // The others need not wait, and this rank does not wait until they know.
                    open.exchange.giveUp(why);
                }
                open.exchange.close();
            }
        } finally {
            released(why);
        }
        comm.setupEnded(why, what);
    }

    /** The job needs nothing any more, and its communicator is not yet ready. */
    protected void released(@Nullable NcclException why) {}

    /** The exchange of a communicator with one rank. */
    static final class Alone implements Exchange {
        private byte[] mine = {};

        @Override
        public void begin(byte[] blob) {
            mine = blob;
        }

        @Override
        public boolean advance() {
            return true;
        }

        @Override
        public byte[][] result() {
            return new byte[][] {mine};
        }

        @Override
        public boolean giveUp(NcclException why) {
            return true;
        }
    }
}
