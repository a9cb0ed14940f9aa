package org.jccl.comm;

import org.jccl.bootstrap.Exchange;
import org.jccl.bootstrap.Keys;
import org.jccl.bootstrap.Rendezvous;
import org.jccl.bootstrap.RendezvousClient;
import org.jccl.log.Log;
import org.jccl.log.Subsystem;
import org.jccl.reduce.Warmup;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclConfig;
import org.jccl.type.NcclException;
import org.jccl.type.UniqueId;
import org.jccl.type.Version;
import org.jspecify.annotations.Nullable;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.stream.IntStream;

/** Creates a communicator: the ranks meet at a unique id and describe themselves, then connect. */
final class InitJob extends Creation {
    /** Each rank adds so many, so that each communicator has a key and a number of its own. */
    private static final int FRESH_BYTES = 16;

    private static final int COMM_ID_BYTES = 16;

    private final UniqueId id;
    private final byte[] fresh = Keys.random(FRESH_BYTES);
    private @Nullable RendezvousClient client;

    /** Why this rank cannot take part. */
    private @Nullable NcclException unfit;

    private InitJob(Comm comm, UniqueId id) {
        super(comm, comm, "ncclCommInitRank", 0);
        this.id = id;
    }

    static InitJob begin(UniqueId id, int nRanks, int rank, NcclConfig config) {
        if (nRanks < 1 || rank < 0 || rank >= nRanks) {
            throw ErrorKind.RANK_OUTSIDE.says(
                    "ncclCommInitRank: rank %s of %s ranks; the rank must lie in [0, nranks)",
                    rank, nRanks);
        }
        if (nRanks > Rendezvous.MAX_RANKS) {
            throw ErrorKind.RANK_COUNT.says(
                    "ncclCommInitRank: nranks is %s; a communicator has at most %s ranks",
                    nRanks, Rendezvous.MAX_RANKS);
        }
        Log.refresh();
        Log.version(rank, "NCCL version " + Version.NCCL + "+jccl" + Version.text());
        UniqueId meeting = Rendezvous.effective(id);
        long hash = Rendezvous.publicNumber(meeting);
        Comm comm = new Comm(config, ConfigDefaults.device(config), rank, nRanks, hash);
        Warmup.start();
        String made = comm.identity() + " blocking " + (config.blocking() ? 1 : 0);
        Log.info(Subsystem.INIT, "ncclCommInitRank " + made + " - Init START");
        return new InitJob(comm, meeting);
    }

    @Override
    Exchange open() {
        if (comm.nRanks() == 1) {
            return new Alone();
        }
        client = new RendezvousClient(id, comm.nRanks(), comm.rank());
        return client;
    }

    @Override
    boolean meet() {
        if (rounds().begun == 0) {
            describe();
        }
        if (!rounds().advance()) {
            return false;
        }
        int n = comm.nRanks();
        int[] participants = IntStream.range(0, n).toArray();
        rounds().throwIfAnyGaveUp(participants, comm.rank(), unfit);
        RankInfo[] infos = new RankInfo[n];
        ByteBuffer allFresh = ByteBuffer.allocate(n * FRESH_BYTES);
        for (int q = 0; q < n; q++) {
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
        }
        for (int q = 1; q < n; q++) {
            String difference = RankInfo.difference(0, infos[0], q, infos[q]);
            if (difference != null) {
                throw ErrorKind.RANKS_DISAGREE.says(
                        "ranks disagree on a setting: %s; use one JCCL, one kind of device and "
                                + "the same variables everywhere",
                        difference);
            }
        }
        RankInfo.requireOwnDevices(infos);
        if (client == null) {
            Rendezvous.useAlone(id);
        }
        byte[] key =
                client == null ? Keys.random(Keys.BYTES) : client.communicatorKey(allFresh.array());
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
    }
}
