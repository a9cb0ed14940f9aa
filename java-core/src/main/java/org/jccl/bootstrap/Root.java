package org.jccl.bootstrap;

import org.jccl.log.Log;
import org.jccl.log.Subsystem;
import org.jccl.param.Params;
import org.jccl.platform.WatchedTime;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.Sentence;
import org.jspecify.annotations.Nullable;

import java.io.ByteArrayOutputStream;
import java.util.Objects;
import java.util.stream.IntStream;

/**
 * The root of one rendezvous: ranks join, contribute to rounds and leave. The first failure ends it
 * for all, with one sentence. Belongs to the thread jccl-net.
 */
final class Root {
    private static final String USED =
            "this unique id has been used already: an id makes one communicator, call"
                    + " ncclGetUniqueId for the next one";

    /** The members' own limits come first, since they say more. */
    private static final long GRACE_MS = 5_000;

    private static final int UNNAMED_COMPLAINTS = 20;

    private final Roots roots;
    final Number16 number;
    final byte[] key;
    private @Nullable MemberHello first;
    private @Nullable Member[] members = {};
    private byte[] @Nullable [] blobs = {};
    private int joined;
    private int contributed;
    private int connected;
    private int round;
    private int rankHere = -1;
    // How long somebody has waited for the round; looked at with each contribution and reminder.
    private final WatchedTime waiting = new WatchedTime();
    private int complaints;
    // Written by jccl-net, read by the thread of the rank that opened the root; volatile.
    private volatile @Nullable NcclException failure;
    private boolean over;

    /**
     * The socket at NCCL_COMM_ID, where ranks meet only this root; else null. The thread that makes
     * the root sets it before anybody knows the root.
     */
    @Nullable Pollable socket;

    Root(Roots roots, IdContent id) {
        this.roots = roots;
        number = Number16.of(id.number());
        key = id.key();
        waiting.stop();
    }

    /**
     * Uses up the id of a single rank, which needs no rendezvous; any thread may do so.
     *
     * @throws NcclException with INVALID_USAGE if another communicator has used it
     */
    void useAlone() {
        if (!roots.use(this)) {
            throw ErrorKind.ID_USED.says(USED);
        }
        roots.agent.submit(this::end);
    }

    /** Whether a rank that comes now belongs to the next communicator at NCCL_COMM_ID. */
    boolean isTaken() {
        return socket != null && isClosed();
    }

    /** Why nobody can meet here any more, or null; any thread may ask. */
    @Nullable NcclException failure() {
        return failure;
    }

    /** Whether nobody can join any more: all have, or the last one has gone. */
    private boolean isClosed() {
        return over || (first != null && joined == members.length);
    }

    /** Rank 0, which opened it, needs it no longer; any thread may say so. */
    void leave() {
        roots.agent.submit(
                () -> {
                    // Rank 0 has met the others, or it has given up.
                    if (!isClosed()) {
                        failSince("rank 0");
                        closeSocket();
                    }
                });
    }

    private void closeSocket() {
        if (socket != null) {
            socket.close();
        }
    }

    /** A rank has proved that it holds the id: it is served from now on, and may join. */
    Member admit(Channel channel, MemberHello hello) {
        Member member = new Member(this, channel, hello);
        roots.agent.serve(member);
        roots.use(this);
        connected++;
        return member;
    }

    /** Makes it one of the ranks, or tells it why not. */
    void join(Member member, long nowNs) {
        MemberHello hello = member.hello;
        member.tell(Hello.ACCEPTED);
        NcclException refusal = failure;
        if (refusal == null && isClosed()) {
            refusal = ErrorKind.ID_USED.says(USED);
        }
        String problem = refusal == null ? problem(hello) : null;
        if (problem != null) {
            refusal = ErrorKind.RANKS_DISAGREE.says(problem);
            fail(refusal);
        }
        if (refusal != null) {
            member.tell(RootMessage.failed(refusal));
            return;
        }
        if (first == null) {
            first = hello;
            members = new Member[hello.nRanks()];
            blobs = new byte[hello.nRanks()][];
        }
        members[hello.rank()] = member;
        joined++;
        if (hello.inRootProcess() && rankHere < 0) {
            rankHere = hello.rank();
        }
        member.joined = true;
        if (isClosed()) {
            // The next communicator's rank 0 may open the port again.
            closeSocket();
        }
        member.ready(nowNs);
    }

    private @Nullable String problem(MemberHello hello) {
        MemberHello reference = first;
        String difference = reference == null ? null : hello.differenceTo(reference);
        if (difference != null) {
            return difference;
        }
        if (hello.nRanks() < 1 || hello.nRanks() > Rendezvous.MAX_RANKS) {
            return Sentence.of(
                    "%s says nranks is %s; a communicator has 1 to %s ranks",
                    hello.name(), hello.nRanks(), Rendezvous.MAX_RANKS);
        }
        if (hello.rank() < 0 || hello.rank() >= hello.nRanks()) {
            return Sentence.of("%s is not one of %s ranks", hello.name(), hello.nRanks());
        }
        Member same = reference == null ? null : members[hello.rank()];
        return same == null
                ? null
                : Sentence.of(
                        "rank %s came twice: from %s and from %s",
                        hello.rank(), same.hello.who(), hello.who());
    }

    /** A member's contribution. */
    void contribute(Member member, int itsRound, byte[] blob, long nowNs) {
        int rank = member.hello.rank();
        if (failure != null) {
            return;
        }
        if (itsRound != round || blobs[rank] != null || blob.length > Exchange.MAX_BLOB_BYTES) {
            fail(ErrorKind.NONSENSE.says("%s broke the protocol", member.hello.name()));
            return;
        }
        blobs[rank] = blob;
        contributed++;
        waiting.lookNs();
        for (Member each : members) {
            if (each != null && each.left) {
                failSince(each.hello.name());
                return;
            }
        }
        if (contributed == members.length) {
            deliver();
        } else {
            member.waits(nowNs);
        }
    }

    private void deliver() {
        ByteArrayOutputStream results = new ByteArrayOutputStream();
        for (int rank = 0; rank < members.length; rank++) {
            boolean here = Objects.requireNonNull(members[rank]).hello.inRootProcess();
            byte[] blob = Objects.requireNonNull(blobs[rank]);
            results.writeBytes(RootMessage.result(round, rank, here, blob));
        }
        blobs = new byte[members.length][];
        round++;
        contributed = 0;
        waiting.stop();
        byte[] messages = results.toByteArray();
        for (Member member : members) {
            Objects.requireNonNull(member).deliver(messages);
        }
    }

    /** Tells a waiting member whom it waits for, or that it has waited long enough. */
    void remind(Member member, long nowNs) {
        long limitMs = Params.INIT_TIMEOUT.get();
        long waitedMs = waiting.lookNs() / 1_000_000;
        if (limitMs > 0 && waitedMs > limitMs + GRACE_MS) {
            fail(
                    ErrorKind.INIT_TIMEOUT.says(
                            "the initialisation was not complete after %s s%s",
                            waitedMs / 1_000, missingText()));
        } else if (failure == null) {
            int[] late = IntStream.range(0, members.length).filter(r -> blobs[r] == null).toArray();
            member.tell(RootMessage.waiting(round, rankHere, late));
            member.waits(nowNs);
        }
    }

    /** A member's connection has ended. */
    void gone(Member member, String how) {
        connected--;
        try {
            if (!member.left && member.joined) {
                fail(
                        ErrorKind.RANK_LEFT_INIT.says(
                                "%s has gone during the initialisation: its process ended or its"
                                        + " connection broke (%s)",
                                member.hello.name(), how));
            }
        } finally {
            if (connected == 0) {
                end();
            }
        }
    }

    /** A rank of this process cannot go on and has not reached the root; any thread may say so. */
    void giveUp(int rank, NcclException why) {
        roots.agent.submit(() -> gaveUp("rank " + rank, why));
    }

    /** A rank cannot go on, and says why. */
    void gaveUp(String who, NcclException why) {
        fail(ErrorKind.PEER_GAVE_UP.says(why, "%s gave up: %s", who, why.getMessage()));
    }

    /**
     * Called again and again while this process cannot accept the ranks that are still to come. If
     * a rank of this process is among these, it says so as well, and names itself.
     */
    void cannotAccept(String why) {
        if (joined < members.length && (rankHere >= 0 || ++complaints > UNNAMED_COMPLAINTS)) {
            fail(
                    ErrorKind.CANNOT_CONNECT.says(
                            "%s cannot accept connections: %s",
                            rankHere < 0
                                    ? "the process that made the unique id"
                                    : "rank " + rankHere + ", whose process made the unique id,",
                            why));
        }
    }

    /** A member leaves in good order; those that still need it learn that. */
    void left(Member member) {
        boolean needed = joined < members.length || contributed > 0;
        if (member.joined && needed) {
            failSince(member.hello.name());
        }
    }

    private void failSince(String left) {
        fail(
                ErrorKind.RANK_LEFT_INIT.says(
                        "%s has left before the initialisation was complete%s",
                        left, missingText()));
    }

    /** Nobody can meet here any more; all members are told why. */
    void fail(NcclException why) {
        if (failure != null) {
            return;
        }
        failure = why;
        Log.info(Subsystem.BOOTSTRAP, "Rendezvous failed: " + why.getMessage());
        byte[] frame = RootMessage.failed(why);
        for (Member member : members) {
            if (member != null && !member.left) {
                member.tell(frame);
            }
        }
    }

    /** Nobody can join any more. */
    private void end() {
        over = true;
        closeSocket();
        members = new Member[0];
        blobs = new byte[0][];
        roots.ended(this);
    }

    private String missingText() {
        int[] absent = IntStream.range(0, members.length).filter(r -> members[r] == null).toArray();
        return absent.length == 0
                ? ""
                : "; never came: " + Sentence.ranks(absent, RootMessage.MAX_NAMED_MISSING);
    }
}
