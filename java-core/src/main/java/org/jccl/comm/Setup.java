package org.jccl.comm;

import org.jccl.bootstrap.Keys;
import org.jccl.bootstrap.LinkSetup;
import org.jccl.device.Device;
import org.jccl.device.DeviceCollectives;
import org.jccl.device.OneRankCollectives;
import org.jccl.log.Log;
import org.jccl.log.Subsystem;
import org.jccl.param.Params;
import org.jccl.platform.Errno;
import org.jccl.platform.ProcessWatch;
import org.jccl.platform.SocketAddress;
import org.jccl.platform.Sockets;
import org.jccl.schedule.Limits;
import org.jccl.schedule.Nodes;
import org.jccl.transport.Links;
import org.jccl.transport.Mate;
import org.jccl.transport.Peer;
import org.jccl.transport.Region;
import org.jccl.transport.RegionLayout;
import org.jccl.transport.net.NetLink;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * Connects the ranks of a communicator once they know of each other: it allocates the own region,
 * maps those of node mates, agrees with all which ranks share memory, connects the others over TCP,
 * and confirms. It takes three rounds of exchange; all members succeed, or all fail with the same
 * reason.
 */
final class Setup {
    private enum Phase {
        REGION,
        MAPPED,
        LINKED,
        CONFIRM,
        DONE
    }

    /** A descriptor, a nonce and an address. */
    private static final int REGION_BLOB_BYTES = 12 + RegionLayout.NONCE_BYTES;

    /** Set once, by whichever thread warns: pidfds are refused to the whole process. */
    private static final AtomicBoolean WARNED = new AtomicBoolean();

    /**
     * The ranks of the communicator, each at its number.
     *
     * @param infos what each has said about itself
     * @param participants the number of each in the rounds
     * @param key the secret that they share
     * @param commId by which they recognise each other's connections
     */
    @SuppressWarnings("ArrayRecordComponent") // parts of one message, shared by reference
    record Members(RankInfo[] infos, int[] participants, byte[] key, byte[] commId) {}

    private final Rounds rounds;
    private final Members members;
    private final RankInfo[] infos;
    private final int rank;
    private final int nRanks;

    private final @Nullable Device device;

    /** Null where not all ranks are on devices that reach each other, as soon as that is known. */
    private @Nullable DeviceCollectives collectives;

    /** By member: the regions of this rank and, once all agree which they are, of its mates. */
    private final @Nullable Region[] regions;

    private final List<Peer> peers = new ArrayList<>();
    private Nodes nodes;
    private Phase phase = Phase.REGION;

    /** The members that are reached over TCP, and the connections with them, if there are any. */
    private int[] far = {};

    private @Nullable LinkSetup linkSetup;

    /** Why this rank has given up. */
    private @Nullable NcclException local;

    private @Nullable Links links;

    /**
     * A setup of these members, of which this rank is one.
     *
     * @param device the device of this rank, null for the host
     */
    Setup(Rounds rounds, Members members, int rank, @Nullable Device device) {
        this.rounds = rounds;
        this.members = members;
        this.infos = members.infos;
        this.rank = rank;
        this.nRanks = infos.length;
        this.regions = new Region[nRanks];
        this.nodes = Nodes.one(nRanks);
        this.device = device;
    }

    /** Begins the first round. */
    void begin() {
        contribute(this::makeRegion);
    }

    /** Begins a round with what this makes or, if that fails, with the reason. */
    private void contribute(Supplier<byte[]> contribution) {
        try {
            rounds.begin(contribution.get());
        } catch (NcclException e) {
            giveUp(e);
        }
    }

    private void giveUp(NcclException why) {
        local = why;
        if (rounds.giveUp(why)) {
            throw why;
        }
    }

    private byte[] makeRegion() {
        byte[] nonce = Keys.random(RegionLayout.NONCE_BYTES);
        Region own = Region.create(nRanks, rank, nonce);
        regions[rank] = own;
        if (own.descriptor() < 0) {
            Log.info(Subsystem.INIT, "rank %s uses TCP: the system refuses shared memory", rank);
        }
        byte[] memory = describeDevice();
        ByteBuffer blob = ByteBuffer.allocate(REGION_BLOB_BYTES + memory.length);
        return blob.putInt(own.descriptor()).put(nonce).putLong(own.base()).put(memory).array();
    }

    /**
     * Goes as far as possible.
     *
     * @return whether everything is connected and confirmed
     * @throws NcclException if any member gave up
     */
    boolean advance() {
        while (phase != Phase.DONE) {
            if (phase == Phase.LINKED && !connect()) {
                return false;
            }
            try {
                if (!rounds.advance()) {
                    return false;
                }
            } catch (NcclException after) {
                throw local == null ? after : local;
            }
            rounds.throwIfAnyGaveUp(members.participants, rank, local);
            switch (phase) {
                case REGION -> {
                    phase = Phase.MAPPED;
                    contribute(this::mapMates);
                }
                case MAPPED -> {
                    phase = Phase.LINKED;
                    agreeOnMates();
                }
                default -> phase = Phase.DONE;
            }
        }
        return true;
    }

    /** Maps the mates; answers which of them it could not map, as {@link AgreedSharing} has it. */
    private byte[] mapMates() {
        BitSet unmapped = new BitSet();
        boolean mayRead = Params.P2P_READ_ENABLE.get() && !Params.P2P_DISABLE.get();
        unmapped.set(nRanks, !mayRead);
        RankInfo lastRead = null;
        for (int q = 0; q < nRanks; q++) {
            if (q == rank || !infos[rank].mayShare(infos[q])) {
                continue;
            }
            byte[] blob = rounds.payload(members.participants[q]);
            if (blob.length < REGION_BLOB_BYTES) {
                throw ErrorKind.NONSENSE.says("rank %s sent no region at init", q);
            }
            ByteBuffer in = ByteBuffer.wrap(blob);
            int descriptor = in.getInt();
            byte[] nonce = new byte[RegionLayout.NONCE_BYTES];
            in.get(nonce);
            try {
                int pid = infos[q].pid();
                Region region = Region.open(nRanks, q, pid, descriptor, nonce);
                regions[q] = region;
                // What can be read of one rank can be read of all ranks of its process.
                if (mayRead && (lastRead == null || !lastRead.sameProcess(infos[q]))) {
                    lastRead = infos[q];
                    if (!region.isReadIn(pid, in.getLong())) {
                        unmapped.set(nRanks);
                    }
                }
            } catch (NcclException e) {
                unmapped.set(q);
                String why = e.getMessage();
                Log.info(Subsystem.INIT, "no shared memory with rank %s, using TCP: %s", q, why);
            }
        }
        unmapped.set(nRanks + 1, !connectDevices());
        return unmapped.toByteArray();
    }

    /** What the others need for operations that the devices run among themselves, if anything. */
    private byte[] describeDevice() {
        try {
            if (device != null) {
                device.prepare();
            }
            RankInfo own = infos[rank];
            boolean near = Arrays.stream(infos).allMatch(q -> q.p2p() && q.mayShare(own));
            DeviceCollectives made = null;
            if (device != null && nRanks == 1) {
                made = new OneRankCollectives(device);
            } else if (device != null && near) {
                made = device.collectives(rank, nRanks);
            }
            collectives = made;
            return made == null ? new byte[0] : made.description();
        } catch (NcclException e) {
            throughHost(e);
            return new byte[0];
        }
    }

    private static void throughHost(NcclException why) {
        Log.info(Subsystem.INIT, "data goes through the host: %s", why.getMessage());
    }

    /** Whether this rank's device reaches the memory of all others. */
    private boolean connectDevices() {
        DeviceCollectives ours = collectives;
        if (ours == null) {
            return false;
        }
        try {
            for (int q = 0; q < nRanks; q++) {
                if (q == rank) {
                    continue;
                }
                byte[] blob = rounds.payload(members.participants[q]);
                if (blob.length == REGION_BLOB_BYTES) {
                    return false;
                }
                byte[] memory = Arrays.copyOfRange(blob, REGION_BLOB_BYTES, blob.length);
                ours.connect(q, infos[q].sameProcess(infos[rank]), memory);
            }
            return true;
        } catch (NcclException e) {
            throughHost(e);
            return false;
        }
    }

    private void agreeOnMates() {
        AgreedSharing sharing =
                new AgreedSharing(infos, q -> rounds.payload(members.participants[q]));
        nodes = Nodes.of(nRanks, sharing);
        nodes = sharing.readable ? nodes.withReadableBuffers() : nodes;
        if (!sharing.onDevices) {
            endCollectives();
        } else if (collectives != null && nRanks > 1) {
            Log.info(
                    Subsystem.INIT,
                    "the devices of all ranks reach each other: they run collectives");
        }
        for (int q = 0; q < nRanks; q++) {
            Region region = regions[q];
            if (region != null && q != rank && !sharing.between(q, rank)) {
                region.close();
                regions[q] = null;
            }
        }
        far = IntStream.range(0, nRanks).filter(q -> regions[q] == null).toArray();
    }

    /** Whether this rank's own connections are there, or it has given up: then a round begins. */
    private boolean connect() {
        try {
            if (far.length > 0) {
                LinkSetup connecting = linkSetup == null ? beginLinks() : linkSetup;
                if (!connecting.advance()) {
                    rounds.exchange.check(missing());
                    return false;
                }
            }
            for (int q = 0; q < nRanks; q++) {
                peers.add(peer(q));
            }
            Limits limits = RegionLayout.limits(nodes.count());
            links =
                    new Links(
                            rank,
                            peers.toArray(Peer[]::new),
                            members.commId,
                            limits,
                            loneOnCores());
            rounds.begin(new byte[0]);
        } catch (NcclException e) {
            giveUp(e);
        }
        phase = Phase.CONFIRM;
        return true;
    }

    /** Whether each rank of this node has a core of its own. */
    private boolean loneOnCores() {
        return RankInfo.haveCores(
                IntStream.range(0, nRanks)
                        .filter(q -> !peers.get(q).isRemote())
                        .mapToObj(q -> infos[q])
                        .toList());
    }

    private LinkSetup beginLinks() {
        SocketAddress[] listeners = new SocketAddress[nRanks];
        Arrays.setAll(listeners, q -> infos[q].listener());
        LinkSetup begun = new LinkSetup(members.key, members.commId, rank, listeners, far);
        linkSetup = begun;
        return begun;
    }

    private Peer peer(int q) {
        Region region = regions[q];
        if (region == null) {
            SocketAddress where = infos[q].listener();
            Log.info(Subsystem.INIT, "Channel 00 : %s -> %s via NET/Socket/%s", rank, q, where);
            return link(q);
        }
        boolean here = infos[q].sameProcess(infos[rank]);
        if (q != rank) {
            String via = here ? "P2P/direct" : "SHM/direct";
            Log.info(Subsystem.INIT, "Channel 00 : %s -> %s via %s", rank, q, via);
        }
        return new Mate(region, here ? null : watch(q), infos[q].pid());
    }

    private NetLink link(int q) {
        Region mirror = Region.mirror(nRanks, q);
        int descriptor = Objects.requireNonNull(linkSetup).descriptor(q);
        try {
            return new NetLink(descriptor, nRanks, mirror);
        } catch (RuntimeException | Error e) {
            Sockets.close(descriptor);
            mirror.close();
            throw e;
        }
    }

    private ProcessWatch watch(int q) {
        int pid = infos[q].pid();
        ProcessWatch watch = ProcessWatch.open(pid, infos[q].startTime());
        if (watch == null) {
            throw ErrorKind.PEER_ENDED_INIT.says("rank %s's process %s ended during init", q, pid);
        }
        if (watch.refusal() != 0 && WARNED.compareAndSet(false, true)) {
            Log.warn(
                    ErrorKind.PIDFD_REFUSED.says(
                            "the system refuses pidfd_open (%s): JCCL looks in /proc for the end of"
                                    + " ranks on this node",
                            Errno.text(watch.refusal())));
        }
        return watch;
    }

    /** Whether this rank is connected, which the others may know already. */
    boolean connected() {
        return links != null;
    }

    /** The connected ranks; once, if {@link #connected}. */
    Links links() {
        return Objects.requireNonNull(links);
    }

    /** What the ranks' devices do among themselves, or null; once, as {@link #links}. */
    @Nullable DeviceCollectives collectives() {
        return collectives;
    }

    /** No rank uses them before this one has confirmed. */
    private void endCollectives() {
        DeviceCollectives made = collectives;
        collectives = null;
        if (made != null && phase == Phase.CONFIRM) {
            made.close();
        } else if (made != null) {
            made.discard();
        }
    }

    /** By member, whether it is reached over TCP. */
    boolean[] net() {
        boolean[] net = new boolean[nRanks];
        for (int q : far) {
            net[q] = true;
        }
        return net;
    }

    /** Which members share a node, as all of them see it. */
    Nodes nodes() {
        return nodes;
    }

    /** Participants that have not come as far, as well as known. */
    int[] missing() {
        return phase == Phase.LINKED && linkSetup != null
                ? Arrays.stream(linkSetup.missing())
                        .map(q -> members.participants[q])
                        .sorted()
                        .toArray()
                : rounds.exchange.missing();
    }

    void awaitActivity(int maxMs) {
        if (phase == Phase.LINKED && linkSetup != null) {
            linkSetup.awaitActivity(maxMs);
        } else {
            rounds.exchange.awaitActivity(maxMs);
        }
    }

    /** Frees what belongs to nobody else: everything, unless this rank is {@link #connected}. */
    void close() {
        if (linkSetup != null) {
            linkSetup.close();
        }
        if (links != null) {
            return;
        }
        endCollectives();
        peers.forEach(Peer::close);
        // A peer has closed its region, which takes no notice of another time.
        for (Region region : regions) {
            if (region != null) {
                region.close();
            }
        }
    }
}
