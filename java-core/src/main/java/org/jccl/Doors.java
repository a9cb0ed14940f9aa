package org.jccl;

import org.jccl.call.Call;
import org.jccl.comm.Comm;
import org.jccl.comm.Operations;
import org.jccl.type.DataType;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.Operation;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Reference;

/** Checks of the arguments of the facade's methods, and their errors for an open group. */
final class Doors {
    private Doors() {}

    /** Refuses an argument that is null, whatever its type promises. */
    static void given(String function, String name, @Nullable Object argument) {
        if (argument == null) {
            throw ErrorKind.NULL_ARGUMENT.says(
                    "nccl%s : %s argument is NULL; pass a value", function, name);
        }
    }

    /** As {@link #given}, for a method that NCCL does not have. */
    static void required(String method, String name, @Nullable Object argument) {
        if (argument == null) {
            throw ErrorKind.NULL_ARGUMENT.says("%s: %s is null; pass a value", method, name);
        }
    }

    /** Refuses memory that this thread cannot use. */
    static void requireUsable(String method, String name, MemorySegment segment) {
        boolean alive = segment.scope().isAlive();
        if (!alive || !segment.isAccessibleBy(Thread.currentThread())) {
            throw arena(method, name, segment.scope());
        }
    }

    /** The failure of an access to memory of this arena, which refused it. */
    static NcclException arena(String method, String name, MemorySegment.Scope scope) {
        return scope.isAlive()
                ? ErrorKind.ARENA_OF_ANOTHER.says(
                        "%s: the arena of %s is another thread's; make it by Arena.ofShared",
                        method, name)
                : ErrorKind.ARENA_CLOSED.says(
                        "%s: the arena of %s is closed; keep it open until the operation is"
                                + " complete",
                        method, name);
    }

    /**
     * The address of a buffer, which holds the elements that the operation reads or writes.
     *
     * @param segment may be null if the operation looks at no element of it
     * @param sent whether it is sendbuff
     */
    static long address(Comm comm, Call call, @Nullable MemorySegment segment, boolean sent) {
        Operation op = call.operation();
        String function = op.ncclName();
        if (!Operations.fits(comm, call)) {
            throw ErrorKind.COUNT_UNFIT.says(
                    "%s: %s is no count of %s; count elements from 0 on, not bytes",
                    function, call.count(), call.type().ncclName());
        }
        if (segment == null) {
            return 0;
        }
        boolean used =
                sent ? op.sends(comm.rank(), call.peer()) : op.receives(comm.rank(), call.peer());
        int n = comm.nRanks();
        long elements = sent ? op.inSize(call.count(), n) : op.outSize(call.count(), n);
        if (!used || elements == 0) {
            return segment.isNative() ? segment.address() : 0;
        }
        if (!sent && segment.isReadOnly()) {
            throw ErrorKind.BUFFER_READ_ONLY.says(
                    "%s: recvbuff is read-only; pass a buffer that may be written", function);
        }
        String name = sent ? "sendbuff" : "recvbuff";
        if (!segment.isNative()) {
            throw ErrorKind.BUFFER_ON_HEAP.says(
                    "%s: %s is on the heap; allocate it from an Arena", function, name);
        }
        // A later check refuses NULL, whose segment has no size.
        if (segment.address() != 0) {
            requireRoom(function, name, segment, elements, call.type());
        }
        requireUsable(function, name, segment);
        return segment.address();
    }

    /** Refuses a segment with room for fewer elements. */
    static void requireRoom(
            String function, String name, MemorySegment segment, long elements, DataType type) {
        long needed = elements * type.sizeBytes();
        if (segment.byteSize() < needed) {
            throw ErrorKind.BUFFER_TOO_SMALL.says(
                    "%s: %s has %s bytes, but %s elements of %s need %s; allocate them, or "
                            + "pass a smaller count",
                    function, name, segment.byteSize(), elements, type.ncclName(), needed);
        }
    }

    /** The bytes of a factor of a sum. */
    static byte[] factor(MemorySegment segment, DataType type) {
        String function = "RedOpCreatePreMulSum";
        given(function, "scalar", segment);
        given(function, "datatype", type);
        requireRoom(function, "scalar", segment, 1, type);
        requireUsable(function, "scalar", segment);
        return segment.asSlice(0, type.sizeBytes()).toArray(ValueLayout.JAVA_BYTE);
    }

    /** Refuses an operation with a future inside a group, whose end waits for everything. */
    static void requireNoGroup(Call call) {
        if (org.jccl.group.Group.current().open()) {
            throw ErrorKind.FUTURE_IN_GROUP.says(
                    "%s: an operation with a future cannot be part of a group; call it outside, "
                            + "where none waits for another, or call the one that returns nothing",
                    call.operation().ncclName());
        }
    }

    /**
     * Keeps these from the garbage collector until the call of this ends, and the open group, if
     * any.
     */
    static void keep(Object comm, @Nullable MemorySegment send, @Nullable MemorySegment recv) {
        try {
            org.jccl.group.Group group = org.jccl.group.Group.current();
            group.keep(comm);
            group.keep(send);
            group.keep(recv);
        } finally {
            Reference.reachabilityFence(comm);
            Reference.reachabilityFence(send);
            Reference.reachabilityFence(recv);
        }
    }

    /** Makes an open group remember the error; answers it. */
    static NcclException remember(NcclException error) {
        org.jccl.group.Group.current().remember(error);
        return error;
    }
}
