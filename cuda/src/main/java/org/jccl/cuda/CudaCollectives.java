package org.jccl.cuda;

import org.jccl.call.Call;
import org.jccl.device.DeviceCollectives;
import org.jccl.platform.Memory;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;

/**
 * Collectives of GPUs that reach each other's memory: a rank's part of one is one kernel. Sends and
 * receives, and sums with a factor, are not among them.
 */
final class CudaCollectives implements DeviceCollectives {
    private static final int STOP_BYTES = 64;

    private final CudaDevice device;
    private final int rank;
    private final int nRanks;
    private final SlotMemory slots;
    private final SlotMemory.@Nullable Reached[] reached;

    /** A word of the host's memory; not 0 if kernels are to stop. */
    private final long stop;

    private final Arena arena = Arena.ofShared();

    /** Made with the first call, when everybody is connected; used inside {@link #launch} only. */
    private @Nullable LaunchArguments arguments;

    private volatile boolean stopped;

    CudaCollectives(CudaDevice device, int rank, int nRanks) {
        this.device = device;
        this.rank = rank;
        this.nRanks = nRanks;
        this.slots = SlotMemory.take(device, rank, nRanks);
        this.reached = new SlotMemory.Reached[nRanks];
        this.stop = device.allocateHost(STOP_BYTES);
    }

    @Override
    public byte[] description() {
        return slots.description();
    }

    @Override
    public void connect(int q, boolean here, byte[] description) {
        reached[q] = slots.reach(description, here);
    }

    @Override
    public boolean takes(Call call) {
        return !call.operation().pointToPoint()
                && call.composed() == null
                && call.factor() == null
                && call.count() > 0;
    }

    @Override
    public boolean isCaptured(long stream) {
        return device.isCaptured(stream);
    }

    @Override
    public void launch(Call call, long started, long done, long use) {
        LaunchArguments known = arguments;
        int lines = SlotMemory.slotLines(nRanks);
        if (known == null) {
            long[] memory = new long[nRanks];
            for (int q = 0; q < nRanks; q++) {
                SlotMemory.Reached other = reached[q];
                memory[q] = other == null ? slots.address() : other.address();
            }
            known = new LaunchArguments(arena, rank, memory, stop, lines);
            arguments = known;
        }
        known.describe(call);
        known.words(started, done, use);
        long bytes = call.partBytes();
        device.launch(call, Kernels.blocks(bytes, lines), Kernels.threads(bytes), known.launch());
    }

    @Override
    public void stop() {
        stopped = true;
        Memory.putLongRelease(stop, 1);
    }

    @Override
    public void discard() {
        slots.giveBackUnused();
        device.freeHost(stop);
        arena.close();
    }

    /** Without a stop all kernels of this rank are over. */
    @Override
    public void close() {
        if (!stopped) {
            for (SlotMemory.Reached other : reached) {
                if (other != null) {
                    slots.takeLeaveOf(other);
                }
            }
            slots.giveBack();
            device.freeHost(stop);
        }
        arena.close();
    }
}
