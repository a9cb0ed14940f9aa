package org.jccl.cuda;

import static jcuda.driver.CUresult.CUDA_SUCCESS;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** Whether a stream records its work for a graph; JCuda has no function that says so. */
@SuppressWarnings("restricted")
final class Capture {
    /** From a stream and the address of an int. */
    private static final MethodHandle IS_CAPTURING =
            Linker.nativeLinker()
                    .downcallHandle(
                            SymbolLookup.libraryLookup(Driver.LIBRARY, Arena.global())
                                    .findOrThrow("cuStreamIsCapturing"),
                            FunctionDescriptor.of(
                                    ValueLayout.JAVA_INT,
                                    ValueLayout.JAVA_LONG,
                                    ValueLayout.ADDRESS));

    /** The default stream cannot be captured. */
    private static final long LEGACY = 1;

    private Capture() {}

    static boolean isUnderWay(long stream) {
        if (stream == 0 || stream == LEGACY) {
            return false;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment status = arena.allocate(ValueLayout.JAVA_INT);
            int result = (int) IS_CAPTURING.invokeExact(stream, status);
            return result == CUDA_SUCCESS && status.get(ValueLayout.JAVA_INT, 0) != 0;
        } catch (Error | RuntimeException e) {
            throw e;
        } catch (Throwable cause) {
            throw new IllegalStateException("cuStreamIsCapturing", cause);
        }
    }
}
