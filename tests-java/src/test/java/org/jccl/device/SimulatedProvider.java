package org.jccl.device;

import org.jccl.type.ErrorKind;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The simulated devices of this process: eight of them. */
public final class SimulatedProvider implements DeviceProvider {
    static final String KIND = "simulated";

    private static final int COUNT = 8;
    private static final Map<Integer, SimulatedDevice> DEVICES = new ConcurrentHashMap<>();

    /** The device with this number. */
    public static SimulatedDevice device(int ordinal) {
        return DEVICES.computeIfAbsent(ordinal, number -> new SimulatedDevice(KIND, number, false));
    }

    @Override
    public String kind() {
        return KIND;
    }

    @Override
    public Device open(int ordinal) {
        if (ordinal >= COUNT) {
            throw ErrorKind.DEVICE_UNKNOWN.says(
                    "there is no device \"simulated:" + ordinal + "\", only " + COUNT);
        }
        return device(Math.max(0, ordinal));
    }
}
