package org.jccl.executor;

import org.jccl.device.Device;
import org.jccl.device.DeviceCollectives;
import org.jccl.transport.Links;
import org.jspecify.annotations.Nullable;

import java.util.ServiceLoader;
import java.util.function.Consumer;

/** A module that runs operations on devices of a kind; found as a service. */
public interface EngineProvider {
    /**
     * An engine for a communicator on this device.
     *
     * @param over gets each task that was added, when it is done
     * @return null for a device that this module does not know
     */
    @Nullable Engine engine(Links links, Device device, Consumer<Task> over);

    /**
     * The engine of a communicator.
     *
     * @param device null for host memory
     * @param collectives what the ranks' devices do among themselves, null for nothing
     */
    static Engine find(
            Links links,
            @Nullable Device device,
            @Nullable DeviceCollectives collectives,
            Consumer<Task> over) {
        if (device == null) {
            return new HostEngine(links, over);
        }
        for (EngineProvider provider : ServiceLoader.load(EngineProvider.class)) {
            Engine engine = provider.engine(links, device, over);
            if (engine != null) {
                return engine;
            }
        }
        return new StagedEngine(links, device, collectives, over);
    }
}
