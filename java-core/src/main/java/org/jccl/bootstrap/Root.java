package org.jccl.bootstrap;

import org.jccl.log.Log;
import org.jccl.log.Subsystem;
import org.jccl.param.Params;
import org.jccl.platform.WatchedTime;
import org.jccl.type.CallError;
import org.jccl.type.ErrorKind;
import org.jccl.type.InitError;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.PeerError;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.StringJoiner;

/**
 * The root of one rendezvous: ranks join, contribute to rounds and leave. The first failure ends it
 * for all, with one sentence. Belongs to the thread jccl-net.
 */
final class Root {
    static final String USED =
            "this unique id has been used already: an id makes one communicator, call"
                    + " ncclGetUniqueId for the next one";
    private static final long MS_NS = 1_000_000;

    /** The members' own limits come first, since they say more. */
    private static final long GRACE_MS = 5_000;

    private static final int UNNAMED_COMPLAINTS = 20;
    private static final int MAX_RANKS = 1 << 16;

    private final Roots roots;
    private final NetAgent agent;
    private final Number16 number;
    private final byte[] key;
    private @Nullable MemberHello first;
    private @Nullable Member[] members = {};
    private byte[] @Nullable [] blobs = {};
    private int joined;
    private int contributed;
    private int connected;
    private int round;
    private int rankHere = -1;
    // How long somebody has waited for the round, or null; looked at with each reminder.
    private @Nullable WatchedTime waiting;
    private int complaints;
    private @Nullable String failure;
    // Written by jccl-net, read by the thread of the rank that opened the root; volatile.
    private volatile @Nullable NcclException refusal;
    private NcclResult failureResult = NcclResult.INVALID_USAGE;
    // Where only this root is met: at NCCL_COMM_ID.
    private @Nullable Door door;
    private boolean over;

    Root(Roots roots, NetAgent agent, Number16 number, byte[] key) {
        this.roots = roots;
        this.agent = agent;
        this.number = number;
        this.key = key;
    }

    Number16 number() {
        return number;
    }

    byte[] key() {
        return key;
    }

    /** Ranks come by this door; for the thread that makes the root, before anybody knows it. */
    void meetAt(Door itsDoor) {
        door = itsDoor;
    }

    /** Whether who comes now belongs to the next communicator at NCCL_COMM_ID. */
    boolean isTaken() {
        return door != null && (over || isComplete());
    }

    /** Why nobody can meet here any more, or null; any thread may ask. */
    @Nullable NcclException refusal() {
        return refusal;
    }

    private boolean isComplete() {
        return first != null && joined == members.length;
    }

    /** Rank 0, which opened it, needs it no longer: it has met the others, or has given up. */
    void leftByItsRank() {
        if (!isComplete()) {
            fail(
                    InitError.RANK_LEFT_INIT,
                    "rank 0 has left before the initialisation was complete" + missingText());
            closeDoor();
        }
    }

    private void closeDoor() {
        if (door != null) {
            door.close();
        }
    }

    /** A rank has proved that it holds the id: it is served from now on, and may join. */
    Member admit(Channel channel, MemberHello hello) {
        Member member = new Member(this, channel, hello);
        agent.serve(member);
        roots.used(this);
        connected++;
        return member;
    }

    /** It is one of the ranks, or is told why not. */
    void join(Member member, long nowNs) {
        MemberHello hello = member.hello();
        member.tell(Hello.ACCEPTED);
        if (failure != null) {
            member.tell(Frame.failed(failureResult, failure));
            return;
        }
        MemberHello reference = first;
        if (reference == null) {
            if (hello.nRanks() < 1 || hello.nRanks() > MAX_RANKS) {
                fail(
                        InitError.RANKS_DISAGREE,
                        hello.name()
                                + " says nranks is "
                                + hello.nRanks()
                                + "; a communicator has 1 to "
                                + MAX_RANKS
                                + " ranks");
                member.tell(Frame.failed(failureResult, String.valueOf(failure)));
                return;
            }
            reference = hello;
            first = hello;
            members = new Member[hello.nRanks()];
            blobs = new byte[hello.nRanks()][];
        } else if (joined == members.length) {
            member.tell(Frame.failed(CallError.ID_USED.result(), USED));
            return;
        }
        String problem = problem(hello, reference);
        if (problem != null) {
            member.tell(Frame.failed(InitError.RANKS_DISAGREE.result(), problem));
            fail(InitError.RANKS_DISAGREE, problem);
            return;
        }
        members[hello.rank()] = member;
        joined++;
        if (hello.inRootProcess() && rankHere < 0) {
            rankHere = hello.rank();
        }
        member.joined();
        if (isComplete()) {
            // The next communicator's rank 0 may open the port again.
            closeDoor();
        }
        member.ready(nowNs);
    }

    private @Nullable String problem(MemberHello hello, MemberHello reference) {
        String difference = hello.differenceTo(reference);
        if (difference != null) {
            return difference;
        }
        if (hello.rank() < 0 || hello.rank() >= members.length) {
            return hello.name() + " is none of " + members.length + " ranks";
        }
        Member same = members[hello.rank()];
        return same == null
                ? null
                : "rank "
                        + hello.rank()
                        + " came twice: from "
                        + same.hello().who()
                        + " and from "
                        + hello.who();
    }

    /** A member's contribution. */
    void contribute(Member member, int itsRound, byte[] blob, long nowNs) {
        int rank = member.hello().rank();
        if (failure != null) {
            return;
        }
        if (itsRound != round || blobs[rank] != null || blob.length > Exchange.MAX_BLOB_BYTES) {
            fail(PeerError.NONSENSE, member.hello().name() + " broke the protocol");
            return;
        }
        blobs[rank] = blob;
        contributed++;
        if (waiting == null) {
            waiting = new WatchedTime();
        }
        Member left = leaver();
        if (left != null) {
            fail(InitError.RANK_LEFT_INIT, leftText(left));
        } else if (contributed == members.length) {
            deliver();
        } else {
            member.waits(nowNs);
        }
    }

    private void deliver() {
        byte[][] frames = new byte[members.length][];
        for (int rank = 0; rank < frames.length; rank++) {
            byte[] blob = blobs[rank];
            Member member = members[rank];
            if (blob != null && member != null) {
                boolean here = member.hello().inRootProcess();
                frames[rank] = Frame.result(round, rank, here, blob);
                blobs[rank] = null;
            }
        }
        round++;
        contributed = 0;
        waiting = null;
        for (Member member : members) {
            if (member != null) {
                member.deliver(frames);
            }
        }
    }

    /** Tells a waiting member whom it waits for, or that it has waited long enough. */
    void remind(Member member, long nowNs) {
        long limitMs = Params.INIT_TIMEOUT.getMs();
        WatchedTime watched = waiting;
        long waitedMs = watched == null ? 0 : watched.lookNs() / MS_NS;
        if (limitMs > 0 && waitedMs > limitMs + GRACE_MS) {
            fail(
                    InitError.INIT_TIMEOUT,
                    "the initialisation was not complete after "
                            + waitedMs / 1_000
                            + " s"
                            + missingText());
        } else if (failure == null) {
            member.tell(Frame.waiting(round, rankHere, missing()));
            member.waits(nowNs);
        }
    }

    /** A member's connection has ended. */
    void gone(Member member, String how) {
        connected--;
        if (!member.left() && member.isJoined()) {
            fail(
                    InitError.RANK_LEFT_INIT,
                    member.hello().name()
                            + " has gone during the initialisation: its process ended or its"
                            + " connection broke ("
                            + how
                            + ")");
        }
        if (connected == 0) {
            end();
        }
    }

    /** A rank cannot go on, and says why. */
    void gaveUp(String who, NcclResult result, String why) {
        fail(InitError.PEER_GAVE_UP.says(result, "%s gave up: %s", who, why));
    }

    /**
     * Its process cannot accept the ranks that are still to come, and says so again and again. A
     * rank of its own that is among these says it, too, and names itself.
     */
    void cannotAccept(String why) {
        boolean named = rankHere >= 0 || ++complaints > UNNAMED_COMPLAINTS;
        if (joined < members.length && named) {
            fail(
                    InitError.CANNOT_CONNECT,
                    (rankHere < 0
                                    ? "the process that made the unique id"
                                    : "rank " + rankHere + ", whose process made the unique id,")
                            + " cannot accept connections: "
                            + why);
        }
    }

    /** A member leaves in good order; whoever still needs it learns that. */
    void left(Member member) {
        boolean needed = joined < members.length || contributed > 0;
        if (member.isJoined() && needed) {
            fail(InitError.RANK_LEFT_INIT, leftText(member));
        }
    }

    private String leftText(Member member) {
        return member.hello().name()
                + " has left before the initialisation was complete"
                + missingText();
    }

    private void fail(ErrorKind kind, String text) {
        fail(kind.says(text));
    }

    private void fail(NcclException why) {
        if (failure != null) {
            return;
        }
        String text = String.valueOf(why.getMessage());
        failure = text;
        failureResult = why.result();
        refusal = why;
        Log.info(Subsystem.BOOTSTRAP, "Rendezvous failed: " + text);
        byte[] frame = Frame.failed(failureResult, text);
        for (Member member : members) {
            if (member != null && !member.left()) {
                member.tell(frame);
            }
        }
    }

    /** Nobody can join any more. */
    void end() {
        over = true;
        closeDoor();
        if (failure == null) {
            failure = USED;
        }
        members = new Member[0];
        blobs = new byte[0][];
        roots.ended(this);
    }

    private @Nullable Member leaver() {
        for (Member member : members) {
            if (member != null && member.left()) {
                return member;
            }
        }
        return null;
    }

    private int[] missing() {
        List<Integer> ranks = new ArrayList<>();
        for (int rank = 0; rank < members.length; rank++) {
            if (blobs[rank] == null) {
                ranks.add(rank);
            }
        }
        return ranks.stream().mapToInt(Integer::intValue).toArray();
    }

    private String missingText() {
        StringJoiner absent = new StringJoiner(", ");
        int count = 0;
        for (int rank = 0; rank < members.length; rank++) {
            if (members[rank] == null) {
                count++;
                if (count <= Frame.MAX_NAMED_MISSING) {
                    absent.add(Integer.toString(rank));
                }
            }
        }
        return count == 0
                ? ""
                : "; never came: rank"
                        + (count == 1 ? " " : "s ")
                        + absent
                        + (count > Frame.MAX_NAMED_MISSING ? " and more" : "");
    }
}
