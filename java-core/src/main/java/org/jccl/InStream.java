package org.jccl;

import org.jccl.call.Call;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;

/** The operations of a communicator in one stream of its device. */
final class InStream extends Collectives {
    private final Communicator comm;
    private final Stream stream;

    InStream(Communicator comm, Stream stream) {
        this.comm = comm;
        this.stream = stream;
    }

    @Override
    void run(Call call, @Nullable MemorySegment send, @Nullable MemorySegment recv) {
        comm.run(call, send, recv, stream);
    }
}
