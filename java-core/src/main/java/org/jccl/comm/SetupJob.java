package org.jccl.comm;

import org.jccl.bootstrap.Exchange;
import org.jccl.log.Log;
import org.jccl.param.Params;
import org.jccl.platform.WatchedTime;
import org.jccl.type.InitError;
import org.jccl.type.NcclException;
import org.jccl.type.Unforeseen;
import org.jspecify.annotations.Nullable;

import java.util.Arrays;

/** What init and split have in common: meet, connect, confirm, with a time limit. */
abstract class SetupJob implements Job {
    private static final long NS_PER_MS = 1_000_000L;

    protected final Comm comm;
    private final long limitNs = Params.INIT_TIMEOUT.getMs() * NS_PER_MS;
    private final WatchedTime waited = new WatchedTime();
    private long warnAfterNs = Params.LATE_WARN.getMs() * NS_PER_MS;
    private @Nullable Rounds rounds;
    private @Nullable Setup setup;
    private boolean opened;
    private boolean nobody;
    private @Nullable NcclException failed;

    SetupJob(Comm comm) {
        this.comm = comm;
    }

    /** The exchange to meet through; null if there is nobody to meet. */
    protected abstract @Nullable Exchange open();

    /**
     * Learns who takes part, then calls {@link #setup} or {@link #setupNothing}.
     *
     * @return whether it did
     */
    protected abstract boolean meet();

    /** The communicator whose ranks meet, and whose end stops the job. */
    protected Comm meeting() {
        return comm;
    }

    /** Whether the exchange has been opened, or an attempt was made. */
    protected final boolean opened() {
        return opened;
    }

    /**
     * Nobody can run the job: it has failed as if in its first step, since the other ranks may have
     * begun and wait for this one.
     */
    final NcclException unstartable(Throwable t) {
        opened = true;
        return Unforeseen.of(t, "in " + what()).on(meeting().identity());
    }

    /** The user has interrupted the thread that waits. */
    void interrupt() {
        meeting().interrupt();
    }

    /** The call in sentences. */
    protected abstract String what();

    protected final @Nullable Rounds roundsOrNull() {
        return rounds;
    }

    protected final Rounds rounds() {
        Rounds open = rounds;
        if (open == null) {
            throw new IllegalStateException("no exchange");
        }
        return open;
    }

    protected final void setup(RankInfo[] infos, int[] participants, byte[] key, byte[] commId) {
        Rounds with = rounds != null ? rounds : new Rounds(new LoneExchange());
        rounds = with;
        int rank = comm.rank();
        comm.met(infos, key);
        Setup next = new Setup(with, participants, rank, infos, key, commId);
        setup = next;
        next.begin();
    }

    protected final void setupNothing() {
        nobody = true;
    }

    @Override
    public final boolean advance() {
        NcclException stop = meeting().stopRequest();
        if (stop != null) {
            throw stop;
        }
        if (!opened) {
            opened = true;
            Exchange open = open();
            rounds = open == null ? null : new Rounds(open);
        }
        long waitedNs = waited.lookNs();
        if (limitNs > 0 && waitedNs > limitNs) {
            throw late();
        }
        // A split's wait for others is an operation of the parent, which warns by itself.
        if (meeting() == comm && warnAfterNs > 0 && waitedNs > warnAfterNs) {
            warnAfterNs = 2 * waitedNs;
            Log.warn(waited(" has waited ", waitedNs));
        }
        if (setup == null && !nobody && !meet()) {
            return false;
        }
        return advanceSetup();
    }

    private boolean advanceSetup() {
        Setup connecting = setup;
        if (connecting == null) {
            try {
                if (!restOfRounds()) {
                    return false;
                }
            } catch (NcclException after) {
                throw failed == null ? after : failed;
            }
            if (failed != null) {
                throw failed;
            }
            return true;
        }
        try {
            if (!connecting.advance()) {
                return false;
            }
        } catch (NcclException e) {
            failed = e;
            setup = null;
            nobody = true;
            giveUp(connecting);
            return advanceSetup();
        }
        comm.connected(connecting);
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

    private NcclException late() {
        return InitError.INIT_TIMEOUT.says(
                "%s; were all started? (JCCL_INIT_TIMEOUT sets the limit in seconds)",
                waited(" waited ", limitNs));
    }

    private String waited(String verb, long ns) {
        return "rank "
                + meeting().rank()
                + verb
                + (ns < 1000 * NS_PER_MS ? ns / NS_PER_MS + " ms" : ns / (1000 * NS_PER_MS) + " s")
                + " in "
                + what()
                + " for "
                + awaited();
    }

    private String awaited() {
        Setup connecting = setup;
        Rounds open = rounds;
        String unreachable = open == null ? null : open.unreachable();
        if (unreachable != null) {
            return unreachable;
        }
        int[] missing =
                connecting != null
                        ? connecting.missing()
                        : open == null ? new int[0] : open.missing();
        String who =
                missing.length == 0
                        ? "the others"
                        : (missing.length == 1 ? "rank " : "ranks ")
                                + Arrays.toString(missing).replaceAll("[\\[\\]]", "");
        return who + " of " + meeting().nRanks() + " ranks";
    }

    @Override
    public final void awaitActivity(int maxMs) {
        Setup connecting = setup;
        Rounds open = rounds;
        if (connecting != null) {
            connecting.awaitActivity(maxMs);
        } else if (open != null) {
            open.awaitActivity(maxMs);
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
                    open.abandon(why);
                }
                open.close();
            }
        } finally {
            released(why);
        }
        comm.setupEnded(why, what());
    }

    /** The job needs nothing any more, and its communicator is not yet ready. */
    protected void released(@Nullable NcclException why) {}

    /** The exchange of a communicator with one rank. */
    private static final class LoneExchange implements Exchange {
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

        @Override
        public int[] missing() {
            return new int[0];
        }

        @Override
        public void awaitActivity(int maxMs) {}

        @Override
        public void close() {}
    }
}
