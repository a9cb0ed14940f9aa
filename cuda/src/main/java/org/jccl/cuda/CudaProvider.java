package org.jccl.cuda;

import org.jccl.device.Device;
import org.jccl.device.DeviceProvider;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/** The GPUs that the CUDA driver shows to this process, with the driver's numbers. */
public final class CudaProvider implements DeviceProvider {
    static final String KIND = "cuda";

    /** Guarded by itself. */
    private static final Map<Integer, CudaDevice> DEVICES = new HashMap<>();

    @Override
    public String kind() {
        return KIND;
    }

    @Override
    public Device open(int ordinal) {
        String unusable = Driver.unusable();
        if (unusable != null) {
            throw unknown(KIND, unusable);
        }
        int count = Driver.count();
        int number = ordinal < 0 ? Driver.current() : ordinal;
        if (number >= count) {
            throw unknown(KIND + ":" + number, "the driver shows " + count + " to this process");
        }
        synchronized (DEVICES) {
            return DEVICES.computeIfAbsent(number, CudaDevice::new);
        }
    }

    /** The device of this process that has this number of 16 bytes, or null. */
    static @Nullable CudaDevice open(byte[] uuid) {
        synchronized (DEVICES) {
            for (CudaDevice device : DEVICES.values()) {
                if (Arrays.equals(device.uuid(), uuid)) {
                    return device;
                }
            }
        }
        return null;
    }

    private static NcclException unknown(String name, String why) {
        return ErrorKind.DEVICE_UNKNOWN.says("there is no device \"%s\": %s", name, why);
    }
}
