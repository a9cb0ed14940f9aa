package org.jccl;

import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.RedOp;
import org.jccl.type.UniqueId;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;

/** A rank's handle of a communicator; its methods come with the core. */
@SuppressWarnings("DoNotCallSuggester")
public final class Communicator implements AutoCloseable {
    /** The colour of a rank that joins no child of {@link #split}. */
    public static final int NOCOLOR = -1;

    private Communicator() {}

    public static UniqueId uniqueId() {
        throw new UnsupportedOperationException();
    }

    public static Communicator initRank(int nRanks, UniqueId id, int rank) {
        return initRank(nRanks, id, rank, Config.DEFAULT);
    }

    public static Communicator initRank(int nRanks, UniqueId id, int rank, Config config) {
        throw new UnsupportedOperationException();
    }

    public static List<Communicator> initAll(int nRanks) {
        throw new UnsupportedOperationException();
    }

    public void allReduce(
            MemorySegment send, MemorySegment recv, long count, DataType type, RedOp op) {}

    public void broadcast(
            MemorySegment send, MemorySegment recv, long count, DataType type, int root) {}

    public void allGather(MemorySegment send, MemorySegment recv, long sendCount, DataType type) {}

    public void reduceScatter(
            MemorySegment send, MemorySegment recv, long recvCount, DataType type, RedOp op) {}

    public void send(MemorySegment buffer, long count, DataType type, int peer) {}

    public void recv(MemorySegment buffer, long count, DataType type, int peer) {}

    public @Nullable Communicator split(int color, int key) {
        return null;
    }

    public @Nullable Communicator split(int color, int key, Config config) {
        return null;
    }

    public NcclResult asyncError() {
        return NcclResult.SUCCESS;
    }

    public void awaitReady(Duration timeout) {}

    public int rank() {
        return 0;
    }

    public int count() {
        return 0;
    }

    public void finalizeCommunicator() {}

    public void abort() {}

    @Override
    public void close() {}

    static NcclException todo() {
        return NcclException.invalidUsage("not yet");
    }
}
