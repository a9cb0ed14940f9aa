package org.jccl.comm;

import org.jccl.bootstrap.Exchange;
import org.jccl.bootstrap.Keys;
import org.jccl.progress.Parting;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * Creates the children of a communicator. All ranks of the parent take part in all rounds, in the
 * parent's order of operations, whatever becomes of their own child: one that is aborted meanwhile
 * is finished and then leaves its peers. A rank that cannot take part to the end fails the parent,
 * whose ranks would be out of step.
 */
final class SplitJob extends SetupJob {
    private static final int ROUNDS = 4;
    private static final int NOCOLOR = -1;

    private final Comm parent;
    private final int color;
    private final int key;
    private final long number;

    private record Member(int parentRank, int key) {}

    SplitJob(Comm parent, Comm child, int color, int key, long number) {
        super(child, parent, "ncclCommSplit");
        this.parent = parent;
        this.color = color;
        this.key = key;
        this.number = number;
    }

    static void checkColor(int color) {
        if (color < NOCOLOR) {
            throw ErrorKind.SPLIT_COLOR.says(
                    "CommSplit : color %s must be NCCL_SPLIT_NOCOLOR (-1) or not negative", color);
        }
    }

    @Override
    protected Exchange open() {
        return new CommExchange(parent);
    }

    @Override
    protected boolean meet() {
        if (rounds().begun == 0) {
            rounds().begin(ByteBuffer.allocate(8).putInt(color).putInt(key).array());
        }
        if (!rounds().advance()) {
            return false;
        }
        if (color == NOCOLOR) {
            return true;
        }
        List<Member> members = new ArrayList<>();
        for (int q = 0; q < parent.nRanks(); q++) {
            byte[] blob = rounds().payload(q);
            if (blob.length != 8) {
                throw ErrorKind.NONSENSE.says("rank %s sent no colour", q);
            }
            ByteBuffer in = ByteBuffer.wrap(blob);
            if (in.getInt() == color) {
                members.add(new Member(q, in.getInt()));
            }
        }
        members.sort(Comparator.comparingInt(Member::key).thenComparingInt(Member::parentRank));
        int[] participants = members.stream().mapToInt(Member::parentRank).toArray();
        RankInfo[] infos = new RankInfo[participants.length];
        Arrays.setAll(infos, i -> parent.info(participants[i]));
        int rank = members.indexOf(new Member(parent.rank(), key));
        comm.placed(rank, infos.length, childName());
        byte[] context = ByteBuffer.allocate(12).putLong(number).putInt(color).array();
        byte[] childKey = Keys.derive(parent.key(), "split", context);
        byte[] id = Arrays.copyOf(Keys.derive(childKey, "name"), 16);
        setup(new Setup.Members(infos, participants, childKey, id));
        return true;
    }

    private long childName() {
        long h = parent.commHash() * 0x9e3779b97f4a7c15L + number;
        return (h ^ h >>> 31) * 0xbf58476d1ce4e5b9L + color;
    }

    @Override
    protected boolean restOfRounds() {
        while (rounds().finished < ROUNDS) {
            if (rounds().begun == rounds().finished) {
                rounds().begin(new byte[0]);
            }
            if (!rounds().advance()) {
                return false;
            }
        }
        return true;
    }

    @Override
    public void ended(@Nullable NcclException why) {
        if (why != null && cutShort(ROUNDS)) {
            Parting.stop(parent.executor(), why);
        }
        // A child that has found no place yet has no rank to be named by.
        super.ended(why == null || comm.rank() >= 0 ? why : why.on(parent.identity()));
    }

    /** A thread that sees that the child is ready may use the parent again. */
    @Override
    protected void released(@Nullable NcclException why) {
        parent.splitEnded(why, cutShort(ROUNDS));
    }
}
