package org.jccl.platform;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** Takes memory away from this process: a thread that touches it ends the process. */
public final class Protection {
    private static final int PROT_NONE = 0;
    private static final MethodHandle MPROTECT = mprotect();

    private Protection() {}

    @SuppressWarnings("restricted")
    private static MethodHandle mprotect() {
        Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(
                linker.defaultLookup().find("mprotect").orElseThrow(),
                FunctionDescriptor.of(
                        ValueLayout.JAVA_INT,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_INT));
    }

    /** Forbids whole pages. */
    public static void forbid(long address, long bytes) {
        try {
            int result = (int) MPROTECT.invokeExact(address, bytes, PROT_NONE);
            if (result != 0) {
                throw new AssertionError("mprotect failed");
            }
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable impossible) {
            throw new AssertionError(impossible);
        }
    }
}
