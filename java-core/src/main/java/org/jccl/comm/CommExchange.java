package org.jccl.comm;

import org.jccl.bootstrap.Exchange;
import org.jccl.call.Call;
import org.jccl.executor.Task;
import org.jccl.platform.Memory;
import org.jccl.platform.SharedMemory;
import org.jccl.platform.WatchedTime;
import org.jccl.progress.CommExecutor;
import org.jccl.progress.Wait;
import org.jccl.transport.CallRecord;
import org.jccl.type.DataType;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.Operation;
import org.jspecify.annotations.Nullable;

import java.util.stream.IntStream;

/**
 * An exchange among the ranks of a communicator that exists already: all-gathers in its order of
 * operations. Serves split. A round is one all-gather of short messages, and another one of long
 * messages if a rank has more to say; every rank sees that in the lengths of the first.
 */
final class CommExchange implements Exchange {
    /** Room for a length and the message of a rank in a round that goes well. */
    static final int SHORT_BYTES = 64;

    /** Room for a reason to give up. */
    private static final int TEXT_BYTES = 512;

    /** A rank that has all its connections begins the next round a little before its peers. */
    private static final long AHEAD_NS = 2_000_000_000L;

    private final Comm comm;
    private final CommExecutor executor;
    private final int longBytes;
    private final SharedMemory buffers;

    /** The bytes of a rank's message in the all-gather that was begun last. */
    private int messageBytes;

    private @Nullable Task task;

    /** For how long a rank that this one waits for has been in the next round; null if none is. */
    private @Nullable WatchedTime aheadSince;

    CommExchange(Comm comm) {
        this.comm = comm;
        this.executor = comm.executor();
        this.longBytes = longBytes(comm.nRanks());
        this.buffers = SharedMemory.anonymous((long) longBytes * (comm.nRanks() + 1));
    }

    /** Room for a length and the longest message of a rank. */
    static int longBytes(int nRanks) {
        return TEXT_BYTES + nRanks / Byte.SIZE;
    }

    @Override
    public void begin(byte[] mine) {
        if (mine.length + Integer.BYTES > longBytes) {
            throw ErrorKind.IMPOSSIBLE.says("%s bytes in a round of an exchange", mine.length);
        }
        long at = buffers.address();
        Memory.putInt(at, mine.length);
        Memory.copyIn(mine, 0, at + Integer.BYTES, mine.length);
        gather(SHORT_BYTES);
    }

    private void gather(int bytes) {
        task = null;
        messageBytes = bytes;
        long at = buffers.address();
        Call call =
                new Call()
                        .of(Operation.ALL_GATHER)
                        .buffers(at, at + longBytes)
                        .elements(bytes, DataType.UINT8.number())
                        .reducedBy(CallRecord.SPLIT);
        Task next = new Task().of(call, comm.planner().plan(call, false));
        executor.submit(next);
        task = next;
    }

    @Override
    public boolean advance() {
        if (task == null || !executor.look(task)) {
            return false;
        }
        NcclException.throwIfAny(task.failure());
        if (messageBytes == SHORT_BYTES && anyIsLong()) {
            gather(longBytes);
            return false;
        }
        return true;
    }

    private boolean anyIsLong() {
        int most = SHORT_BYTES - Integer.BYTES;
        return IntStream.range(0, comm.nRanks()).anyMatch(q -> length(q) > most);
    }

    /** The address of the message of a rank. */
    private long message(int rank) {
        return buffers.address() + longBytes + (long) messageBytes * rank;
    }

    private int length(int rank) {
        int length = Memory.getInt(message(rank));
        if (length < 0 || length > longBytes - Integer.BYTES) {
            throw ErrorKind.NONSENSE.says("rank %s sent an unreadable message", rank);
        }
        return length;
    }

    @Override
    public void check(int[] awaited) {
        executor.lookForLoss(awaited);
        NcclException.throwIfAny(executor.failure());
        int ahead = -1;
        for (int q : awaited) {
            ahead = executor.hasComeTo(q, 1) ? q : ahead;
        }
        WatchedTime since = ahead < 0 ? null : aheadSince == null ? new WatchedTime() : aheadSince;
        aheadSince = since;
        if (since != null && since.lookNs() > AHEAD_NS) {
            throw ErrorKind.LOST.says("rank %s of the parent made no connection", ahead);
        }
    }

    @Override
    public byte[][] result() {
        byte[][] all = new byte[comm.nRanks()][];
        for (int q = 0; q < all.length; q++) {
            all[q] = new byte[length(q)];
            Memory.copyOut(message(q) + Integer.BYTES, all[q], 0, all[q].length);
        }
        return all;
    }

    @Override
    public int[] missing() {
        return IntStream.range(0, comm.nRanks())
                .filter(q -> q != comm.rank() && !executor.hasComeTo(q, 0))
                .toArray();
    }

    @Override
    public void awaitActivity(int maxMs) {
        await(System.nanoTime() + maxMs * 1_000_000L);
    }

    private void await(long untilNs) {
        if (task != null) {
            Wait.of(executor, task).await(untilNs);
        }
    }

    @Override
    public void close() {
        await(0);
        buffers.close();
    }
}
