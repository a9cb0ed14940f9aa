package org.jccl.abi;

import org.jccl.comm.Comm;
import org.jccl.device.Device;
import org.jccl.device.Devices;
import org.jccl.param.Params;
import org.jccl.platform.Memory;
import org.jccl.platform.SharedMemory;
import org.jccl.type.DataType;
import org.jccl.type.ErrorKind;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Memory and reductions that callers create and destroy. */
final class Resources {
    /** The values of {@code ncclScalarResidence_t}. */
    private static final int SCALAR_DEVICE = 0;

    private static final int SCALAR_HOST_IMMEDIATE = 1;

    /**
     * By the address of what ncclMemAlloc gave and ncclMemFree has not taken back, what frees it.
     */
    private static final Map<Long, Runnable> MEMORY = new ConcurrentHashMap<>();

    private Resources() {}

    static void memAlloc(long out, long bytes) {
        Checked.pointer("MemAlloc", "ptr", out);
        if (bytes < 0) {
            throw ErrorKind.COUNT_OVERFLOW.says(
                    "MemAlloc : size %s is more than a process can have",
                    Long.toUnsignedString(bytes));
        }
        long address = 0;
        if (bytes > 0) {
            Device device = Devices.open(Params.DEVICE.text());
            address = device == null ? hostMemory(bytes) : memoryOf(device, bytes);
        }
        Memory.putLong(out, address);
    }

    private static long hostMemory(long bytes) {
        SharedMemory memory = SharedMemory.anonymous(bytes);
        MEMORY.put(memory.address(), memory::close);
        return memory.address();
    }

    private static long memoryOf(Device device, long bytes) {
        long address = device.allocate(bytes);
        MEMORY.put(address, () -> device.free(address));
        return address;
    }

    static void memFree(long address) {
        Runnable free = MEMORY.remove(address);
        if (free != null) {
            free.run();
        } else if (address != 0) {
            throw ErrorKind.NOT_ALLOCATED.says(
                    "MemFree : 0x%s is no address that ncclMemAlloc gave, or was freed before",
                    Long.toHexString(address));
        }
    }

    static void createPreMulSum(long out, long scalar, int type, int residence, long handle) {
        Comm comm = Handles.get(handle, "RedOpCreatePreMulSum");
        Checked.pointer("RedOpCreatePreMulSum", "op", out);
        Checked.pointer("RedOpCreatePreMulSum", "scalar", scalar);
        if (residence != SCALAR_DEVICE && residence != SCALAR_HOST_IMMEDIATE) {
            throw ErrorKind.RESIDENCE_UNKNOWN.says(
                    "ncclRedOpCreatePreMulSum : invalid residence %s; use a value of "
                            + "ncclScalarResidence_t",
                    residence);
        }
        if (!DataType.isValid(type)) {
            throw ErrorKind.TYPE_UNKNOWN.says(
                    "%sinvalid type %s; use a value of ncclDataType_t",
                    "ncclRedOpCreatePreMulSum : ", type);
        }
        DataType of = DataType.of(type);
        boolean later = residence == SCALAR_DEVICE;
        byte[] factor = new byte[later ? 0 : of.sizeBytes()];
        Memory.copyOut(scalar, factor, 0, factor.length);
        comm.ensureReady();
        if (later && comm.device() != null) {
            throw ErrorKind.NOT_DONE_YET.says(
                    "a factor of ncclRedOpCreatePreMulSum in memory of a device is not done yet "
                            + "in JCCL; pass ncclScalarHostImmediate; see DIFFERENCES.md");
        }
        Memory.putInt(out, comm.customOps().preMulSum(of, factor, later ? scalar : 0).number());
    }
}
