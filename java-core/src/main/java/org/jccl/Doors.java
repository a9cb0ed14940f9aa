package org.jccl;

import org.jccl.call.Call;
import org.jccl.comm.Comm;
import org.jccl.comm.Operations;
import org.jccl.type.CallError;
import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.Operation;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.util.function.Supplier;

/** Checks of the arguments of the facade's methods, and their errors for an open group. */
final class Doors {
    private Doors() {}

    /** Refuses an argument that is null, whatever its type promises. */
    static void given(String function, String name, @Nullable Object argument) {
        if (argument == null) {
            throw CallError.NULL_ARGUMENT.says(
                    "nccl%s : %s argument is NULL; pass a value", function, name);
        }
    }

    /**
     * The address of a segment that the operation reads.
     *
     * @param segment may be null if no element of it is looked at
     */
    static long readable(Comm comm, Call call, @Nullable MemorySegment segment) {
        if (!Operations.fits(comm, call)) {
            throw CallError.COUNT_UNFIT.says(
                    "%s: %s is no count of %s; count elements from 0 on, not bytes",
                    call.operation().ncclName(), call.count(), call.type().ncclName());
        }
        boolean sends = call.operation().sends(comm.rank(), call.peer());
        long elements = sends ? call.operation().inSize(call.count(), comm.nRanks()) : 0;
        return address(call, "sendbuff", segment, elements);
    }

    private static long address(
            Call call, String name, @Nullable MemorySegment segment, long elements) {
        Operation operation = call.operation();
        DataType type = call.type();
        long needed = elements * type.sizeBytes();
        if (segment == null) {
            return 0;
        }
        if (elements == 0) {
            return segment.isNative() ? segment.address() : 0;
        }
        if (!segment.isNative()) {
            throw CallError.BUFFER_ON_HEAP.says(
                    "%s: %s is on the heap; allocate it from an Arena", operation.ncclName(), name);
        }
        // NULL, which has no size, is said to be NULL later.
        if (segment.address() != 0 && segment.byteSize() < needed) {
            throw CallError.BUFFER_TOO_SMALL.says(
                    "%s: %s has %s bytes, but %s elements of %s need %s; allocate them, or "
                            + "pass a smaller count",
                    operation.ncclName(),
                    name,
                    segment.byteSize(),
                    elements,
                    type.ncclName(),
                    needed);
        }
        if (!segment.scope().isAlive()) {
            throw CallError.ARENA_CLOSED.says(
                    "%s: the arena of %s is closed; keep it open until the operation is "
                            + "complete",
                    operation.ncclName(), name);
        }
        return segment.address();
    }

    /** The same of a segment that the operation writes. */
    static long writable(Comm comm, Call call, @Nullable MemorySegment segment) {
        boolean receives = call.operation().receives(comm.rank(), call.peer());
        if (receives && segment != null && segment.isReadOnly()) {
            throw CallError.BUFFER_READ_ONLY.says(
                    "%s: recvbuff is read-only; pass a buffer that may be written",
                    call.operation().ncclName());
        }
        long elements = receives ? call.operation().outSize(call.count(), comm.nRanks()) : 0;
        return address(call, "recvbuff", segment, elements);
    }

    /** Runs a call; an open group remembers its error. */
    static <T extends @Nullable Object> T remembered(Supplier<T> call) {
        try {
            return call.get();
        } catch (NcclException e) {
            throw remember(e);
        }
    }

    /** An open group remembers the error; answers it. */
    static NcclException remember(NcclException error) {
        org.jccl.group.Group.current().remember(error);
        return error;
    }
}
