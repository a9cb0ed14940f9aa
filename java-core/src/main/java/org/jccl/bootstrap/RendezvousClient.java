package org.jccl.bootstrap;

import org.jccl.platform.Sockets;
import org.jccl.platform.WatchedTime;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.Sentence;
import org.jccl.type.UniqueId;
import org.jspecify.annotations.Nullable;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Objects;

/** A rank's side of the rendezvous by a unique id. Used by one thread at a time. */
public final class RendezvousClient implements Exchange {
    private static final int[] NONE = {};

    /** How long this process is given to accept its own rank. */
    private static final long DIALING_NS = 1_000_000_000L;

    /** How long a rank that gets no socket tries to tell the others so. */
    private static final long TELLING_NS = 2_000_000_000L;

    private final MemberHello self;
    private final IdContent id;
    private final Dialer dialer;

    /** How long it has tried to connect; counted anew from {@link #shortage} on. */
    private WatchedTime dialing = new WatchedTime();

    /** Why this rank cannot take part, while it connects only to say so. */
    private @Nullable NcclException shortage;

    /** The root at the known address, if this is rank 0, which opens it. */
    private final @Nullable RootOpening opening;

    private @Nullable Channel channel;
    private byte @Nullable [] mine;

    /** By rank: the contributions to the last round, as far as they have come. */
    private byte[] @Nullable [] blobs = {};

    /** How many have come; all, if no round is under way. */
    private int received;

    private int round = -1;
    private int[] missing;
    private int rankOfRoot;
    private @Nullable NcclException failure;

    /**
     * Connects in {@link #advance}.
     *
     * @param rank from 0 to nRanks - 1
     * @throws NcclException with INVALID_ARGUMENT for an id that JCCL did not make; INVALID_USAGE
     *     for one that needs a secret
     */
    public RendezvousClient(UniqueId id, int nRanks, int rank) {
        IdContent content = CommId.withSecret(IdContent.decode(id));
        boolean here = CommId.isOne(content) ? rank == 0 : Listener.rootHere(content) != null;
        this(content, MemberHello.own(nRanks, rank, here));
    }

    /** A rank that introduces itself by this hello. */
    RendezvousClient(IdContent id, MemberHello hello) {
        this.id = id;
        self = hello;
        received = hello.nRanks();
        boolean known = CommId.isOne(id);
        rankOfRoot = known ? 0 : -1;
        missing = known && hello.rank() != 0 ? new int[] {0} : NONE;
        dialer =
                new Dialer(
                        id.root(),
                        Hello.create(Hello.RENDEZVOUS, 0, 0, id.number()),
                        id.key(),
                        hello.encode(),
                        known);
        opening = known && hello.rank() == 0 ? new RootOpening(id) : null;
    }

    /**
     * A key that the members of this rendezvous can compute and nobody else.
     *
     * @param fresh what the members have sent each other for this communicator alone, each as many
     *     bytes
     */
    public byte[] communicatorKey(byte[] fresh) {
        return id.communicatorKey(fresh);
    }

    @Override
    public void begin(byte[] contribution) {
        NcclException.throwIfAny(failure);
        if (contribution.length > MAX_BLOB_BYTES) {
            throw ErrorKind.IMPOSSIBLE.says(
                    "a contribution of %s bytes is too large", contribution.length);
        }
        round++;
        received = 0;
        blobs = new byte[self.nRanks()][];
        mine = contribution.clone();
    }

    private boolean isComplete() {
        return received == self.nRanks();
    }

    @Override
    public boolean advance() {
        NcclException.throwIfAny(failure);
        if (!isComplete()) {
            progress();
        }
        return isComplete();
    }

    @Override
    public void check(int[] awaited) {
        NcclException.throwIfAny(failure);
        if (channel != null) {
            progress();
        }
    }

    /** Goes on with the round under way; if there is none, reads what the root says. */
    private void progress() {
        try {
            Channel open = channel == null ? connect() : channel;
            if (open != null) {
                exchange(open);
            }
        } catch (NcclException permanent) {
            failure = permanent;
            tellRootHere(permanent);
            throw permanent;
        }
    }

    /**
     * Lets the root of this process, if this rank has not reached it yet, tell the others why it
     * fails.
     */
    private void tellRootHere(NcclException why) {
        if (channel == null && self.inRootProcess()) {
            Root root = opening == null ? Listener.rootHere(id) : opening.root();
            if (root != null) {
                root.giveUp(self.rank(), why);
            }
        }
    }

    @Override
    public boolean giveUp(NcclException why) {
        if (failure != null) {
            return true;
        }
        failure = why;
        tellRootHere(why);
        if (channel != null) {
            channel.send(RootMessage.failed(why));
        }
        return true;
    }

    private void exchange(Channel open) {
        boolean inRound = !isComplete();
        byte[] contribution = takeContribution();
        if (contribution != null) {
            open.send(RootMessage.blob(round, contribution));
        }
        while (!inRound || !isComplete()) {
            ByteBuffer message = open.message();
            if (message == null) {
                if (open.ended()) {
                    throw rootHasGone(open);
                }
                return;
            }
            read(message);
        }
        missing = NONE;
    }

    /** Takes this rank's contribution to the round, one time; results may come only after that. */
    byte @Nullable [] takeContribution() {
        byte[] contribution = mine;
        mine = null;
        return contribution;
    }

    private @Nullable Channel connect() {
        if (opening != null && !opening.advance()) {
            return null;
        }
        try {
            channel = dialer.advance();
        } catch (NcclException refused) {
            if (shortage != null) {
                throw shortage;
            }
            if (mayTell(refused)) {
                return null;
            }
            throw CommId.isOne(id) ? CommId.explain(refused) : refused;
        }
        if (channel == null) {
            long sinceNs = dialing.lookNs();
            if (self.inRootProcess() && sinceNs > DIALING_NS) {
                Listener.throwObstacle();
            }
            if (sinceNs > TELLING_NS) {
                NcclException.throwIfAny(shortage);
            }
            return null;
        }
        missing = NONE;
        if (shortage != null) {
            giveUp(shortage);
            throw shortage;
        }
        return channel;
    }

    /** Whether this rank, which gets no socket, connects by the spare one to tell the others. */
    private boolean mayTell(NcclException refused) {
        if (self.inRootProcess() || refused.kind() != ErrorKind.CANNOT_CONNECT) {
            return false;
        }
        int spare = Listener.takeSpare(dialer.target.isIpv6());
        if (spare < 0) {
            return false;
        }
        shortage = refused;
        dialing = new WatchedTime();
        dialer.start(spare);
        return true;
    }

    /** Takes a message, which may say anything. */
    void read(ByteBuffer message) {
        switch (message.get()) {
            case RootMessage.RESULT -> readResult(message);
            case RootMessage.WAITING -> readWaiting(message);
            case RootMessage.FAILED ->
                    throw message.remaining() < Integer.BYTES
                            ? nonsense()
                            : RootMessage.readFailure(message);
            default -> throw nonsense();
        }
    }

    private void readResult(ByteBuffer message) {
        if (message.remaining() < 9) {
            throw nonsense();
        }
        int itsRound = message.getInt();
        int from = message.getInt();
        boolean withRoot = message.get() != 0;
        boolean expected = mine == null && !isComplete() && itsRound == round;
        if (!expected || from < 0 || from >= self.nRanks() || blobs[from] != null) {
            throw nonsense();
        }
        blobs[from] = RootMessage.rest(message);
        received++;
        if (withRoot && rankOfRoot < 0) {
            rankOfRoot = from;
        }
    }

    private void readWaiting(ByteBuffer message) {
        if (message.remaining() < 8 || message.remaining() % Integer.BYTES != 0) {
            throw nonsense();
        }
        boolean current = message.getInt() == round;
        int withRoot = message.getInt();
        int[] ranks = new int[message.remaining() / Integer.BYTES];
        message.asIntBuffer().get(ranks);
        int nRanks = self.nRanks();
        if (withRoot >= 0 && withRoot < nRanks) {
            rankOfRoot = withRoot;
        }
        if (current) {
            missing = Arrays.stream(ranks).filter(each -> each >= 0 && each < nRanks).toArray();
        }
    }

    private NcclException rootHasGone(Channel open) {
        String who =
                CommId.isOne(id)
                        ? "rank 0, which opened the root at the known address (" + id.root() + "),"
                        : rankOfRoot < 0
                                ? "the process that made the unique id (" + dialer.target + ")"
                                : "rank " + rankOfRoot + ", whose process made the unique id,";
        return ErrorKind.ROOT_GONE.says(
                "%s has gone during the initialisation: its process ended or its "
                        + "connection broke (%s)",
                who, open.endText());
    }

    private NcclException nonsense() {
        return ErrorKind.ROOT_NONSENSE.says("the rendezvous at %s sent nonsense", dialer.target);
    }

    @Override
    public byte[][] result() {
        return Arrays.stream(blobs).map(Objects::requireNonNull).toArray(byte[][]::new);
    }

    @Override
    public int[] missing() {
        return missing.clone();
    }

    @Override
    public @Nullable String unreachable() {
        if (channel != null) {
            return null;
        }
        if (opening != null && opening.root() == null) {
            return opening.obstacle();
        }
        return CommId.isOne(id)
                ? Sentence.of(
                        "rank 0 of %s ranks (connecting to %s: %s)",
                        self.nRanks(), dialer.target, dialer.obstacle())
                : Sentence.of(
                        "the process that made the unique id, at %s (%s)",
                        dialer.target, dialer.obstacle());
    }

    @Override
    public void awaitActivity(int maxMs) {
        if (channel != null) {
            Sockets.pollOne(channel.fd, channel.events(), maxMs);
        } else if (opening != null && opening.root() == null) {
            Sockets.pollOne(-1, (short) 0, Math.min(maxMs, RootOpening.PAUSE_MS));
        } else {
            int sleepMs = Math.min(maxMs, dialer.dueInMs());
            Sockets.pollOne(dialer.fd(), dialer.events(), sleepMs);
        }
    }

    @Override
    public void close() {
        dialer.close();
        if (channel != null) {
            channel.send(RootMessage.bye());
            Sockets.shutdown(channel.fd);
            while (channel.message() != null) {
                // Unread data would turn the end of the stream into a reset.
            }
            channel.close();
            channel = null;
        }
        if (opening != null) {
            opening.close();
        }
        if (failure == null) {
            failure = ErrorKind.EXCHANGE_ENDED.says("the exchange is closed");
        }
    }
}
