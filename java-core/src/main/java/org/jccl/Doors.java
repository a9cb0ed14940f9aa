package org.jccl;

import org.jccl.comm.Buffers;
import org.jccl.comm.Comm;
import org.jccl.type.CallError;
import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.Operation;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.util.function.Supplier;

/** What every method of the facade does on the way in: checks of segments, errors of groups. */
final class Doors {
    private Doors() {}

    /** The address of a segment that the operation reads. */
    static long address(
            Operation operation,
            Comm comm,
            String name,
            MemorySegment segment,
            long elements,
            long count,
            DataType type) {
        if (count < 0 || elements < 0 || elements > Long.MAX_VALUE / type.sizeBytes()) {
            throw CallError.COUNT_UNFIT.says(
                    operation.ncclName() + ": " + count + " is no count of " + type.ncclName());
        }
        if (elements == 0) {
            return segment.isNative() ? segment.address() : 0;
        }
        if (!segment.isNative()) {
            throw CallError.BUFFER_ON_HEAP.says(
                    operation.ncclName()
                            + ": the "
                            + name
                            + " buffer is on the heap; allocate it"
                            + " from an Arena");
        }
        long needed = elements * type.sizeBytes();
        if (segment.byteSize() < needed) {
            throw CallError.BUFFER_TOO_SMALL.says(
                    operation.ncclName()
                            + ": the "
                            + name
                            + " buffer has "
                            + segment.byteSize()
                            + " bytes, but "
                            + elements
                            + " elements of "
                            + type.ncclName()
                            + " need "
                            + needed);
        }
        if (!segment.scope().isAlive()) {
            throw CallError.ARENA_CLOSED.says(
                    operation.ncclName() + ": the arena of the " + name + " buffer is closed");
        }
        Buffers.checkKind(operation, comm, name, segment.address(), needed);
        return segment.address();
    }

    /** The address of a segment that the operation writes. */
    static long writable(
            Operation operation,
            Comm comm,
            String name,
            MemorySegment segment,
            long elements,
            long count,
            DataType type) {
        if (segment.isReadOnly()) {
            throw CallError.BUFFER_READ_ONLY.says(
                    operation.ncclName() + ": the " + name + " buffer is read-only");
        }
        return address(operation, comm, name, segment, elements, count, type);
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
