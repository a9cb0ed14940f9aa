package org.jccl.cuda;

import static jcuda.driver.CUresult.CUDA_SUCCESS;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * Functions of the driver that JCuda calls in ways that JCCL cannot use: it gives host memory as a
 * buffer of Java, which has 2 GiB at most, and keeps the garbage collector waiting while the driver
 * writes into an array.
 */
@SuppressWarnings("restricted")
final class Native {
    /** From where to put the address, the number of bytes, and flags. */
    private static final MethodHandle HOST_ALLOC =
            link(
                    "cuMemHostAlloc",
                    ValueLayout.ADDRESS,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_INT);

    /** From where to put the value, the number of the attribute, and the address. */
    private static final MethodHandle POINTER_ATTRIBUTE =
            link(
                    "cuPointerGetAttribute",
                    ValueLayout.ADDRESS,
                    ValueLayout.JAVA_INT,
                    ValueLayout.JAVA_LONG);

    private Native() {}

    private static MethodHandle link(String name, MemoryLayout... arguments) {
        return Linker.nativeLinker()
                .downcallHandle(
                        SymbolLookup.libraryLookup(Driver.LIBRARY, Arena.global())
                                .findOrThrow(name),
                        FunctionDescriptor.of(ValueLayout.JAVA_INT, arguments));
    }

    /**
     * Host memory for the GPUs.
     *
     * @param out gets the address
     * @return the driver's result
     */
    static int hostAlloc(long[] out, long bytes, int flags) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment address = arena.allocate(ValueLayout.JAVA_LONG);
            int result = (int) HOST_ALLOC.invokeExact(address, bytes, flags);
            out[0] = address.get(ValueLayout.JAVA_LONG, 0);
            return result;
        } catch (Throwable cause) {
            throw unexpected(cause);
        }
    }

    /** What the driver knows about an address; -1 if it knows nothing. */
    static long pointerAttribute(int attribute, long address) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value = arena.allocate(ValueLayout.JAVA_LONG);
            int result = (int) POINTER_ATTRIBUTE.invokeExact(value, attribute, address);
            return result == CUDA_SUCCESS ? value.get(ValueLayout.JAVA_LONG, 0) : -1;
        } catch (Throwable cause) {
            throw unexpected(cause);
        }
    }

    /** A handle throws only if its descriptor and the call differ, which is an error of ours. */
    private static IllegalStateException unexpected(Throwable cause) {
        if (cause instanceof Error error) {
            throw error;
        }
        return new IllegalStateException("a native call failed", cause);
    }
}
