package org.jccl.cuda;

import static jcuda.driver.CUmemorytype.CU_MEMORYTYPE_DEVICE;
import static jcuda.driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
import static jcuda.driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
import static jcuda.driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_RANGE_SIZE;
import static jcuda.driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_RANGE_START_ADDR;
import static jcuda.driver.CUresult.CUDA_SUCCESS;

import org.jccl.platform.Memory;

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
 * reads or writes an array. Besides, those that each call needs: through JCuda one takes 2 to 4 us.
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

    /** From the number of attributes, these, where to put each value, and the address. */
    private static final MethodHandle POINTER_ATTRIBUTES =
            link(
                    "cuPointerGetAttributes",
                    ValueLayout.JAVA_INT,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG);

    private static final MethodHandle PUSH = link("cuCtxPushCurrent_v2", ValueLayout.JAVA_LONG);

    /** From where to put the context. */
    private static final MethodHandle POP = link("cuCtxPopCurrent_v2", ValueLayout.JAVA_LONG);

    /** From the stream, and where to put the status. */
    private static final MethodHandle IS_CAPTURING =
            link("cuStreamIsCapturing", ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG);

    /** To, from, the number of bytes, and the stream. */
    private static final MethodHandle COPY =
            link(
                    "cuMemcpyAsync",
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG);

    /** From the stream, the address, the value, and flags. */
    private static final MethodHandle WRITE =
            link(
                    "cuStreamWriteValue64_v2",
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_INT);

    private static final MethodHandle CONTEXT_OF_STREAM =
            link("cuStreamGetCtx", ValueLayout.JAVA_LONG, ValueLayout.ADDRESS);

    /** What {@link #endOfAllocation} asks for. */
    private static final long OWNER =
            Arena.global()
                    .allocateFrom(
                            ValueLayout.JAVA_INT,
                            CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                            CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                            CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                            CU_POINTER_ATTRIBUTE_RANGE_SIZE)
                    .address();

    private static final int OWNER_WORDS = 4;

    /** For values: words, then the addresses of the first of them. */
    private static final ThreadLocal<MemorySegment> SCRATCH =
            ThreadLocal.withInitial(Native::scratch);

    /** Bytes of a handle by which another process opens memory. */
    static final int HANDLE_BYTES = 64;

    private static final int UUID_BYTES = 16;

    private static final MemoryLayout HANDLE =
            MemoryLayout.structLayout(MemoryLayout.sequenceLayout(8, ValueLayout.JAVA_LONG));

    /** From where to put the handle, and the address. */
    private static final MethodHandle GET_HANDLE =
            link("cuIpcGetMemHandle", ValueLayout.ADDRESS, ValueLayout.JAVA_LONG);

    /** From where to put the address, the handle itself, and flags. */
    private static final MethodHandle OPEN_HANDLE =
            link("cuIpcOpenMemHandle_v2", ValueLayout.ADDRESS, HANDLE, ValueLayout.JAVA_INT);

    /** From where to put the id, and the number of the device. */
    private static final MethodHandle UUID =
            link("cuDeviceGetUuid_v2", ValueLayout.ADDRESS, ValueLayout.JAVA_INT);

    /** From where to put the module, and the image. */
    private static final MethodHandle LOAD_MODULE =
            link("cuModuleLoadData", ValueLayout.ADDRESS, ValueLayout.ADDRESS);

    private static final long IMAGE_ALIGNMENT = 16;

    private static final MethodHandle LOAD = link("cuFuncLoad", ValueLayout.JAVA_LONG);

    /** From the configuration, the function, null, and where it is said where the arguments are. */
    private static final MethodHandle LAUNCH =
            link(
                    "cuLaunchKernelEx",
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
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

    private static MemorySegment scratch() {
        MemorySegment words = Arena.ofAuto().allocate(2L * OWNER_WORDS * Long.BYTES, Long.BYTES);
        for (int i = 0; i < OWNER_WORDS; i++) {
            long at = words.address() + (long) i * Long.BYTES;
            words.setAtIndex(ValueLayout.JAVA_LONG, OWNER_WORDS + i, at);
        }
        return words;
    }

    /**
     * Where the allocation that has an address ends.
     *
     * @return 0 if it is not memory of this device
     */
    static long endOfAllocation(long address, int device) {
        long words = SCRATCH.get().address();
        Memory.putLong(words, 0);
        long places = words + (long) OWNER_WORDS * Long.BYTES;
        try {
            int result = (int) POINTER_ATTRIBUTES.invokeExact(OWNER_WORDS, OWNER, places, address);
            boolean known =
                    result == CUDA_SUCCESS
                            && Memory.getInt(words) == CU_MEMORYTYPE_DEVICE
                            && Memory.getInt(words + Long.BYTES) == device;
            return known
                    ? Memory.getLong(words + 2 * Long.BYTES)
                            + Memory.getLong(words + 3 * Long.BYTES)
                    : 0;
        } catch (Throwable cause) {
            throw unexpected(cause);
        }
    }

    /** Makes a context the calling thread's, until {@link #pop}. */
    static int push(long context) {
        try {
            return (int) PUSH.invokeExact(context);
        } catch (Throwable cause) {
            throw unexpected(cause);
        }
    }

    /** Gives the thread back the context that it had. */
    static void pop() {
        try {
            int ignored = (int) POP.invokeExact(SCRATCH.get().address());
        } catch (Throwable cause) {
            throw unexpected(cause);
        }
    }

    /** The status of a stream's capture; the driver's result, negated, if it does not tell. */
    static int captureStatus(long stream) {
        long word = SCRATCH.get().address();
        try {
            int result = (int) IS_CAPTURING.invokeExact(stream, word);
            return result == CUDA_SUCCESS ? Memory.getInt(word) : -result;
        } catch (Throwable cause) {
            throw unexpected(cause);
        }
    }

    /** Gives a stream a copy, whatever the two memories are. */
    static int copy(long to, long from, long bytes, long stream) {
        try {
            return (int) COPY.invokeExact(to, from, bytes, stream);
        } catch (Throwable cause) {
            throw unexpected(cause);
        }
    }

    /** Gives a stream the task to store a long in the host's memory. */
    static int write(long stream, long address, long value) {
        try {
            return (int) WRITE.invokeExact(stream, address, value, 0);
        } catch (Throwable cause) {
            throw unexpected(cause);
        }
    }

    /** The context of a stream; 0 if the driver knows none. */
    static long contextOf(long stream) {
        MemorySegment word = SCRATCH.get();
        try {
            int result = (int) CONTEXT_OF_STREAM.invokeExact(stream, word);
            return result == CUDA_SUCCESS ? word.get(ValueLayout.JAVA_LONG, 0) : 0;
        } catch (Throwable cause) {
            throw unexpected(cause);
        }
    }

    /** Fills {@code out} with the handle of an allocation. */
    static int handle(byte[] out, long address) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment handle = arena.allocate(HANDLE);
            int result = (int) GET_HANDLE.invokeExact(handle, address);
            MemorySegment.copy(handle, ValueLayout.JAVA_BYTE, 0, out, 0, HANDLE_BYTES);
            return result;
        } catch (Throwable cause) {
            throw unexpected(cause);
        }
    }

    /** Opens another process's memory; {@code out} gets the address. */
    static int open(long[] out, byte[] handle, int flags) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment address = arena.allocate(ValueLayout.JAVA_LONG);
            MemorySegment copy = arena.allocate(HANDLE);
            MemorySegment.copy(handle, 0, copy, ValueLayout.JAVA_BYTE, 0, HANDLE_BYTES);
            int result = (int) OPEN_HANDLE.invokeExact(address, copy, flags);
            out[0] = address.get(ValueLayout.JAVA_LONG, 0);
            return result;
        } catch (Throwable cause) {
            throw unexpected(cause);
        }
    }

    /** Fills {@code out} with the id of a device. */
    static int uuid(byte[] out, int device) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment id = arena.allocate(UUID_BYTES);
            int result = (int) UUID.invokeExact(id, device);
            MemorySegment.copy(id, ValueLayout.JAVA_BYTE, 0, out, 0, UUID_BYTES);
            return result;
        } catch (Throwable cause) {
            throw unexpected(cause);
        }
    }

    /** Loads compiled kernels into the current context; {@code out} gets the module. */
    static int loadModule(long[] out, byte[] image) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment module = arena.allocate(ValueLayout.JAVA_LONG);
            MemorySegment copy = arena.allocate(image.length, IMAGE_ALIGNMENT);
            MemorySegment.copy(image, 0, copy, ValueLayout.JAVA_BYTE, 0, image.length);
            int result = (int) LOAD_MODULE.invokeExact(module, copy);
            out[0] = module.get(ValueLayout.JAVA_LONG, 0);
            return result;
        } catch (Throwable cause) {
            throw unexpected(cause);
        }
    }

    /** Loads a function into the current context. */
    static int load(long function) {
        try {
            return (int) LOAD.invokeExact(function);
        } catch (Throwable cause) {
            throw unexpected(cause);
        }
    }

    /** Launches a kernel; see {@link Launch}. */
    static int launch(long config, long function, long parameters) {
        try {
            return (int) LAUNCH.invokeExact(config, function, 0L, parameters);
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
