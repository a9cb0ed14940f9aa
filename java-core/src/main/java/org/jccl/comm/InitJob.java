package org.jccl.comm;

import org.jccl.bootstrap.Exchange;
import org.jccl.bootstrap.Keys;
import org.jccl.bootstrap.Rendezvous;
import org.jccl.bootstrap.RendezvousClient;
import org.jccl.type.InitError;
import org.jccl.type.NcclException;
import org.jccl.type.UniqueId;
import org.jspecify.annotations.Nullable;

/** Creates a communicator by rendezvous at a unique id: who is there, then {@link Setup}. */
final class InitJob extends SetupJob {
    private final UniqueId id;
    private boolean met;

    InitJob(Comm comm, UniqueId id) {
        super(comm);
        this.id = id;
    }

    @Override
    protected @Nullable Exchange open() {
        return comm.nRanks() == 1 ? null : new RendezvousClient(id, comm.nRanks(), comm.rank());
    }

    @Override
    protected boolean meet() {
        RankInfo own = RankInfo.own(comm.config());
        if (comm.nRanks() == 1) {
            Rendezvous.useAlone(id);
            setup(new RankInfo[] {own}, new int[] {0}, new byte[32], commId());
            return true;
        }
        if (!met) {
            met = true;
            rounds().begin(own.encode());
        }
        if (!rounds().advance()) {
            return false;
        }
        int n = comm.nRanks();
        RankInfo[] infos = new RankInfo[n];
        int[] participants = new int[n];
        for (int q = 0; q < n; q++) {
            NcclException failed = rounds().failure(q);
            if (failed != null) {
                throw failed;
            }
            infos[q] = RankInfo.decode(q, rounds().payload(q));
            participants[q] = q;
        }
        for (int q = 1; q < n; q++) {
            String difference = RankInfo.difference(0, infos[0], q, infos[q]);
            if (difference != null) {
                throw InitError.RANKS_DISAGREE.says(
                        "ranks disagree on a setting: " + difference + "; use one JCCL everywhere");
            }
        }
        setup(infos, participants, Keys.derive(id.toBytes(), "comm"), commId());
        return true;
    }

    private byte[] commId() {
        return java.util.Arrays.copyOf(Keys.derive(id.toBytes(), "name"), 16);
    }

    @Override
    protected String what() {
        return "ncclCommInitRank";
    }
}
