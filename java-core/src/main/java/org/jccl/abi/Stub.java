package org.jccl.abi;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import org.jccl.log.Log;
import org.jccl.log.Subsystem;
import org.jccl.platform.Memory;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.util.ArrayList;
import java.util.List;

/**
 * The pointer by which C calls {@link NcclApi#operationForStub}. A call through it costs a third of
 * one through JNI, but the first stub of a process takes some 50 ms to make: so it is made beside
 * the callers, by the thread {@code jccl-stub}, and only where operations are frequent.
 */
final class Stub {
    /** Java ran out of memory, and so could not say it. */
    static final int NO_MEMORY = -1;

    /** The same for the thread's stack. */
    static final int NO_STACK = -2;

    /** Java failed in another way, and could not say how. */
    static final int NOT_KNOWN = -3;

    /** After so many calls through JNI the stub is made. */
    private static final int FREQUENT = 20_000;

    /** Written and read by every caller without order: a lost one is counted later. */
    private static int calls;

    /** Where C libraries look for the stub; guarded by itself, as is the stub's address. */
    private static final List<Long> PLACES = new ArrayList<>();

    private static long address;

    private Stub() {}

    /** Counts a call through JNI. */
    static void count() {
        int counted = calls;
        if (counted < FREQUENT) {
            calls = counted + 1;
            if (counted == FREQUENT - 1) {
                start();
            }
        }
    }

    private static void start() {
        try {
            Thread thread = new Thread(Stub::make, "jccl-stub");
            thread.setDaemon(true);
            thread.start();
        } catch (OutOfMemoryError noThread) {
            Log.info(Subsystem.INIT, "C goes on to call Java through JNI: " + noThread);
        }
    }

    @SuppressWarnings("restricted")
    private static void make() {
        try {
            FunctionDescriptor operation =
                    FunctionDescriptor.of(
                            JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT,
                            JAVA_INT, JAVA_LONG, JAVA_LONG);
            MethodHandle target =
                    MethodHandles.lookup()
                            .findStatic(
                                    NcclApi.class, "operationForStub", operation.toMethodType());
            MemorySegment made =
                    Linker.nativeLinker().upcallStub(target, operation, Arena.global());
            publish(made.address());
            Log.info(Subsystem.INIT, "C calls operations through a stub");
        } catch (Throwable t) {
            Log.info(Subsystem.INIT, "C goes on to call Java through JNI: " + t);
        }
    }

    /** A C library looks for the stub at this address. */
    static void offer(long place) {
        synchronized (PLACES) {
            PLACES.add(place);
            store(place);
        }
    }

    private static void publish(long made) {
        synchronized (PLACES) {
            address = made;
            PLACES.forEach(Stub::store);
        }
    }

    private static void store(long place) {
        Memory.putLongRelease(place, address);
    }

    /** What C is told of a failure that nobody could put into words. */
    static int code(Throwable t) {
        return t instanceof OutOfMemoryError
                ? NO_MEMORY
                : t instanceof StackOverflowError ? NO_STACK : NOT_KNOWN;
    }
}
