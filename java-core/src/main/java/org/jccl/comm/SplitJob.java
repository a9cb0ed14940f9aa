package org.jccl.comm;

import org.jccl.bootstrap.Exchange;
import org.jccl.bootstrap.Keys;
import org.jccl.log.Log;
import org.jccl.log.Subsystem;
import org.jccl.progress.Parting;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclConfig;
import org.jccl.type.NcclException;
import org.jccl.type.Sentence;
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
final class SplitJob extends Creation {
    private static final int ROUNDS = 4;

    private final int color;
    private final int key;
    private final long number;

    private SplitJob(Comm parent, Comm child, int color, int key, long number) {
        super(child, parent, "ncclCommSplit", ROUNDS);
        this.color = color;
        this.key = key;
        this.number = number;
    }

    static SplitJob begin(Comm parent, int color, int key, @Nullable NcclConfig config) {
        parent.ensureUnbroken();
        if (color < NOCOLOR) {
            throw ErrorKind.SPLIT_COLOR.says(
                    "CommSplit : color %s must be NCCL_SPLIT_NOCOLOR (-1) or not negative", color);
        }
        NcclConfig own = parent.config();
        NcclConfig resolved = config == null ? own : ConfigDefaults.resolve(config);
        ConfigDefaults.requireParentsDevice(config, parent.device());
        if (resolved.hostId() == null) {
            resolved = resolved.withHostId(own.hostId());
        }
        long number = parent.life.beginSplit();
        try {
            Comm child = new Comm(resolved, parent.device(), -1, 0, parent.commHash());
            String asked =
                    Sentence.of(
                            "parent %s blocking %s childCount %s color %s key %s",
                            parent.identity(), parent.blocking() ? 1 : 0, number, color, key);
            Log.info(Subsystem.INIT, "ncclCommSplit " + asked + " - Init START");
            return new SplitJob(parent, child, color, key, number);
        } catch (RuntimeException | Error e) {
            parent.life.endSplit(null);
            throw e;
        }
    }

    @Override
    Exchange open() {
        return new CommExchange(meeting);
    }

    @Override
    boolean meet() {
        if (rounds().begun == 0) {
            rounds().begin(ByteBuffer.allocate(8).putInt(color).putInt(key).array());
        }
        if (!rounds().advance()) {
            return false;
        }
        if (color == NOCOLOR) {
            return true;
        }
        int[] keys = new int[meeting.nRanks()];
        List<Integer> members = new ArrayList<>();
        for (int q = 0; q < keys.length; q++) {
            byte[] blob = rounds().payload(q);
            if (blob.length != 8) {
                throw ErrorKind.NONSENSE.says("rank %s sent no colour", q);
            }
            ByteBuffer in = ByteBuffer.wrap(blob);
            if (in.getInt() == color) {
                members.add(q);
                keys[q] = in.getInt();
            }
        }
        // Ranks with equal keys stay in the parent's order.
        members.sort(Comparator.comparingInt(q -> keys[q]));
        int[] participants = members.stream().mapToInt(q -> q).toArray();
        RankInfo[] infos = members.stream().map(q -> meeting.infos[q]).toArray(RankInfo[]::new);
        int rank = members.indexOf(meeting.rank());
        comm.placed(rank, infos.length, childName());
        byte[] context = ByteBuffer.allocate(12).putLong(number).putInt(color).array();
        byte[] childKey = Keys.derive(meeting.key, "split", context);
        byte[] id = Arrays.copyOf(Keys.derive(childKey, "name"), 16);
        setup(new Setup.Members(infos, participants, childKey, id));
        return true;
    }

    private long childName() {
        long h = meeting.commHash() * 0x9e3779b97f4a7c15L + number;
        return (h ^ h >>> 31) * 0xbf58476d1ce4e5b9L + color;
    }

    @Override
    void ending(@Nullable NcclException why) {
        if (why != null && cutShort()) {
            Parting.stop(meeting.executor(), why);
        }
    }

    /** A thread that sees that the child is ready may use the parent again. */
    @Override
    void released(@Nullable NcclException why) {
        meeting.splitEnded(why, cutShort());
    }
}
