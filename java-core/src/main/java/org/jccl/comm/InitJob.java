package org.jccl.comm;

import org.jccl.bootstrap.Exchange;
import org.jccl.bootstrap.Keys;
import org.jccl.bootstrap.Rendezvous;
import org.jccl.bootstrap.RendezvousClient;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.UniqueId;
import org.jspecify.annotations.Nullable;

import java.nio.ByteBuffer;
import java.util.Arrays;

/** Creates a communicator: the ranks meet at a unique id and describe themselves, then connect. */
final class InitJob extends SetupJob {
    /** Each rank adds so many, so that each communicator has a key and a number of its own. */
    private static final int FRESH_BYTES = 16;

    private static final int COMM_ID_BYTES = 16;

    private final UniqueId id;
    private final byte[] fresh = Keys.random(FRESH_BYTES);
    private @Nullable RendezvousClient client;

    /** Why this rank cannot take part. */
    private @Nullable NcclException unfit;

    InitJob(Comm comm, UniqueId id) {
        super(comm, comm, "ncclCommInitRank");
        this.id = id;
    }

    @Override
    protected Exchange open() {
        if (comm.nRanks() == 1) {
            return new Alone();
        }
        RendezvousClient meeting = new RendezvousClient(id, comm.nRanks(), comm.rank());
        client = meeting;
        return meeting;
    }

    @Override
    protected boolean meet() {
        if (rounds().begun == 0) {
            describe();
        }
        if (!rounds().advance()) {
            return false;
        }
        NcclException.throwIfAny(unfit);
        int n = comm.nRanks();
        RankInfo[] infos = new RankInfo[n];
        ByteBuffer allFresh = ByteBuffer.allocate(n * FRESH_BYTES);
        int[] participants = new int[n];
        for (int q = 0; q < n; q++) {
            NcclException failed = rounds().failure(q);
            if (failed != null) {
                throw ErrorKind.PEER_GAVE_UP.says(
                        failed, "rank %s gave up: %s", q, failed.getMessage());
            }
            byte[] blob = rounds().payload(q);
            if (blob.length < FRESH_BYTES) {
                throw ErrorKind.NONSENSE.says("rank %s described itself badly: too short", q);
            }
            allFresh.put(blob, 0, FRESH_BYTES);
            // Ranks of one process describe themselves alike.
            infos[q] =
                    q > 0 && sameInfo(blob, rounds().payload(q - 1))
                            ? infos[q - 1]
                            : RankInfo.decode(q, blob, FRESH_BYTES);
            participants[q] = q;
        }
        for (int q = 1; q < n; q++) {
            String difference = RankInfo.difference(0, infos[0], q, infos[q]);
            if (difference != null) {
                throw ErrorKind.RANKS_DISAGREE.says(
                        "ranks disagree on a setting: %s; use one JCCL and one kind of device "
                                + "everywhere",
                        difference);
            }
        }
        RendezvousClient met = client;
        if (met == null) {
            Rendezvous.useAlone(id);
        }
        byte[] key = met == null ? Keys.random(Keys.BYTES) : met.communicatorKey(allFresh.array());
        byte[] name = Keys.derive(key, "name");
        if (Rendezvous.isShared(id)) {
            comm.named(ByteBuffer.wrap(name).getLong());
        }
        setup(new Setup.Members(infos, participants, key, Arrays.copyOf(name, COMM_ID_BYTES)));
        return true;
    }

    private static boolean sameInfo(byte[] blob, byte[] other) {
        return Arrays.equals(blob, FRESH_BYTES, blob.length, other, FRESH_BYTES, other.length);
    }

    /** A rank that cannot be reached, for want of a port perhaps, tells the others why. */
    private void describe() {
        try {
            byte[] info = RankInfo.own(comm.config(), comm.device()).encode();
            ByteBuffer description = ByteBuffer.allocate(FRESH_BYTES + info.length);
            rounds().begin(description.put(fresh).put(info).array());
        } catch (NcclException e) {
            unfit = e;
            rounds().beginFailed(e);
        }
    }
}
