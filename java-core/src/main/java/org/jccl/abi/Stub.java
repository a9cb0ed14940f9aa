package org.jccl.abi;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import org.jccl.log.Log;
import org.jccl.log.Subsystem;
import org.jccl.platform.Memory;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;

/**
 * The pointer by which C calls {@link NcclApi#operation}. A call through it costs a third of one
 * through JNI, but the first stub of a process takes some 50 ms to make: so it is made beside the
 * callers, by the thread {@code jccl-stub}, and only where operations are frequent.
 */
final class Stub {
    private static long address;

    private Stub() {}

    /** Makes the pointer beside the caller, unless there is one, and stores it there. */
    static void make(long place) {
        Thread.ofPlatform().daemon().name("jccl-stub").start(() -> store(place));
    }

    private static synchronized void store(long place) {
        try {
            address = address == 0 ? made() : address;
            Memory.putLongRelease(place, address);
            Log.info(Subsystem.INIT, "C calls operations through a stub");
        } catch (Throwable t) {
            Log.info(Subsystem.INIT, "C goes on to call Java through JNI: " + t);
        }
    }

    @SuppressWarnings("restricted")
    private static long made() throws ReflectiveOperationException {
        FunctionDescriptor described =
                FunctionDescriptor.of(
                        JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT,
                        JAVA_INT, JAVA_LONG, JAVA_LONG);
        MethodHandle target =
                MethodHandles.lookup()
                        .findStatic(NcclApi.class, "operation", described.toMethodType());
        return Linker.nativeLinker().upcallStub(target, described, Arena.global()).address();
    }
}
