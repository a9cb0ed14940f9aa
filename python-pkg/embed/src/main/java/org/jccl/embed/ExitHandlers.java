package org.jccl.embed;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

/**
 * Lets the process end without the exit handlers of its native libraries.
 *
 * <p>Those of torch free Python objects on the thread that ends the Java VM. They wait for
 * CPython's global lock, and may call Java; but the VM has stopped its threads by then, perhaps the
 * one that has the lock, so the process might never end.
 */
final class ExitHandlers {
    private ExitHandlers() {}

    /** The end of the Java VM, but for halt, skips the handlers that were registered before it. */
    static void skip() {
        try {
            Runtime.getRuntime().addShutdownHook(new Thread(ExitHandlers::endFirst, "jccl-exit"));
        } catch (IllegalStateException ending) {
            // The VM ends already, in the middle of a start: nothing is known to be there.
        }
    }

    /**
     * Adds a handler that ends the process, and one that runs before it, since the latest runs
     * first: it writes what C code has printed. A C library without on_exit keeps all handlers.
     */
    @SuppressWarnings("restricted")
    private static void endFirst() {
        SymbolLookup names = Linker.nativeLinker().defaultLookup();
        if (names.find("on_exit").isEmpty()) {
            return;
        }
        MemorySegment file =
                names.findOrThrow("stdout")
                        .reinterpret(ValueLayout.ADDRESS.byteSize())
                        .get(ValueLayout.ADDRESS, 0);
        // Without the file's lock, which a stopped thread may have.
        MemorySegment flush = names.findOrThrow("fflush_unlocked");
        call(names, "on_exit", names.findOrThrow("_exit"), MemorySegment.NULL);
        call(names, "__cxa_atexit", flush, file, MemorySegment.NULL);
    }

    @SuppressWarnings("restricted")
    private static void call(SymbolLookup names, String name, MemorySegment... arguments) {
        ValueLayout[] addresses = new ValueLayout[arguments.length];
        Arrays.fill(addresses, ValueLayout.ADDRESS);
        try {
            Object status =
                    Linker.nativeLinker()
                            .downcallHandle(
                                    names.findOrThrow(name),
                                    FunctionDescriptor.of(ValueLayout.JAVA_INT, addresses))
                            .invokeWithArguments((Object[]) arguments);
            if (!status.equals(0)) {
                throw new IllegalStateException(name + " has no room for another exit handler");
            }
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
