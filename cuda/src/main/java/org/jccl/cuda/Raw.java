package org.jccl.cuda;

import jcuda.NativePointerObject;
import jcuda.Pointer;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUmodule;
import jcuda.driver.CUstream;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Numbers as JCuda's objects, and back. Callers hand over addresses and streams that JCuda has not
 * made, for which its classes have no constructor.
 */
final class Raw {
    private static final VarHandle VALUE = field(NativePointerObject.class, "nativePointer");
    private static final VarHandle OFFSET = field(Pointer.class, "byteOffset");

    private Raw() {}

    private static VarHandle field(Class<?> type, String name) {
        try {
            return MethodHandles.privateLookupIn(type, MethodHandles.lookup())
                    .findVarHandle(type, name, long.class);
        } catch (ReflectiveOperationException absent) {
            throw new LinkageError("this is no JCuda that JCCL knows", absent);
        }
    }

    static CUstream stream(long handle) {
        CUstream stream = new CUstream();
        VALUE.set((NativePointerObject) stream, handle);
        return stream;
    }

    static CUmodule module(long handle) {
        CUmodule module = new CUmodule();
        VALUE.set((NativePointerObject) module, handle);
        return module;
    }

    /** Memory of a device, or of the host where a device can reach it. */
    static CUdeviceptr memory(long address) {
        return new CUdeviceptr().withByteOffset(address);
    }

    static long address(Pointer pointer) {
        return value(pointer) + (long) OFFSET.get(pointer);
    }

    static long value(NativePointerObject object) {
        return (long) VALUE.get(object);
    }
}
