package org.jccl.device;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Simulated devices of this process that run collectives among themselves. */
public final class LinkedProvider implements DeviceProvider {
    /** What their names begin with. */
    public static final String KIND = "linked";

    private static final Map<Integer, SimulatedDevice> DEVICES = new ConcurrentHashMap<>();

    /** The device with this number. */
    public static SimulatedDevice device(int ordinal) {
        return DEVICES.computeIfAbsent(ordinal, number -> new SimulatedDevice(KIND, number, true));
    }

    @Override
    public String kind() {
        return KIND;
    }

    @Override
    public Device open(int ordinal) {
        return device(Math.max(0, ordinal));
    }
}
