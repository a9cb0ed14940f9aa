package org.jccl.cuda;

import org.jccl.call.Call;
import org.jccl.device.DeviceCollectives;
import org.jccl.param.Params;
import org.jccl.platform.Memory;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * Operations of GPUs that reach each other's memory: a rank's part of a collective is one kernel,
 * and so are the sends and receives of a group. Sums with a factor are not among them.
 */
final class CudaCollectives implements DeviceCollectives {
    private static final int STOP_BYTES = 64;

    private final CudaDevice device;
    private final Kernels kernels;
    private final int rank;
    private final int nRanks;
    private final Phases phases;
    private final SlotMemory slots;
    private final SlotMemory.@Nullable Reached[] reached;

    /** How many blocks a kernel has at most, on any rank. */
    private int blocks = Math.min(Kernels.MOST_BLOCKS, Params.MAX_CTAS.get());

    /** A word of the host's memory; not 0 if kernels are to stop. */
    private final long stop;

    private final Arena arena = Arena.ofShared();

    /** Made with the first call, when everybody is connected; used inside {@link #launch} only. */
    private @Nullable LaunchArguments arguments;

    /** The same for those of large parts. */
    private @Nullable LaunchArguments pieces;

    /** The same, used inside {@link #exchange} only. */
    private @Nullable TransferArguments transfers;

    private volatile boolean stopped;
    private volatile @Nullable NcclException failure;

    CudaCollectives(CudaDevice device, Kernels kernels, int rank, int nRanks) {
        this.device = device;
        this.kernels = kernels;
        this.rank = rank;
        this.nRanks = nRanks;
        this.phases = new Phases(rank, nRanks);
        this.reached = new SlotMemory.Reached[nRanks];
        this.stop = device.allocateHost(STOP_BYTES);
        Memory.putLongRelease(stop, 0);
        try {
            this.slots = SlotMemory.take(device, rank, nRanks);
        } catch (RuntimeException | Error refused) {
            device.freeHost(stop);
            throw refused;
        }
    }

    @Override
    public byte[] description() {
        byte[] memory = slots.description();
        return ByteBuffer.allocate(Integer.BYTES + memory.length)
                .putInt(blocks)
                .put(memory)
                .array();
    }

    @Override
    public void connect(int q, boolean here, byte[] description) {
        ByteBuffer in = ByteBuffer.wrap(description);
        int theirs = in.remaining() < Integer.BYTES ? 0 : in.getInt();
        if (theirs < 1 || theirs > Kernels.MOST_BLOCKS) {
            throw ErrorKind.NONSENSE.says("rank %s described its device badly", q);
        }
        blocks = Math.min(blocks, theirs);
        byte[] memory = new byte[in.remaining()];
        in.get(memory);
        reached[q] = slots.reach(memory, here);
    }

    @Override
    public boolean takes(Call call) {
        boolean plain = call.composed() == null && call.factor() == null;
        return plain && (call.operation().pointToPoint() || call.count() > 0);
    }

    @Override
    public boolean isCaptured(long stream) {
        return device.isCaptured(stream);
    }

    @Override
    public boolean launch(Call call, long started, long done, long use) {
        int n = phases.of(call);
        device.enter();
        try {
            boolean captured = device.captures(call.stream());
            for (int i = 0; i < n; i++) {
                Call phase = phases.phase(i);
                LaunchArguments known = described(phase, call.stream());
                known.words(captured || i > 0 ? 0 : started, captured || i < n - 1 ? 0 : done, use);
                long kernel = kernels.function(phase, nRanks);
                if (!launched(kernel, known.launch(), i == 0 || captured)) {
                    return false;
                }
            }
            return captured;
        } finally {
            device.leave();
        }
    }

    /**
     * Launches a kernel.
     *
     * @param alone whether none was launched before that waits for this one; then a refusal is
     *     thrown, else all are stopped
     */
    private boolean launched(long function, Launch launch, boolean alone) {
        try {
            device.launch(function, launch);
            return true;
        } catch (NcclException refused) {
            if (alone) {
                throw refused;
            }
            failure = refused;
            stop();
            return false;
        }
    }

    private LaunchArguments described(Call phase, long stream) {
        LaunchArguments known = Kernels.inPieces(phase) ? forPieces() : forLines();
        known.describe(phase);
        int n = Kernels.blocks(phase, nRanks, SlotMemory.slotLines(nRanks), blocks);
        known.launch().shape(n, Kernels.threads(phase, nRanks), stream);
        return known;
    }

    private LaunchArguments forLines() {
        LaunchArguments known = arguments;
        if (known == null) {
            known = launchArguments(0);
            arguments = known;
        }
        return known;
    }

    private LaunchArguments forPieces() {
        LaunchArguments known = pieces;
        if (known == null) {
            known = launchArguments(SlotMemory.PIECES);
            pieces = known;
        }
        return known;
    }

    private LaunchArguments launchArguments(long offset) {
        int lines = SlotMemory.slotLines(nRanks);
        return new LaunchArguments(arena, rank, memory(offset), stop, lines);
    }

    @Override
    public void exchange(List<? extends Call> group, long started, long done, long use) {
        TransferArguments known = transfers;
        if (known == null) {
            long[] memory = memory(SlotMemory.TRANSFERS);
            known = new TransferArguments(arena, rank, memory, stop, blocks);
            transfers = known;
        }
        int parts = known.take(group);
        long stream = group.getFirst().stream();
        device.enter();
        try {
            for (int n = 0; n < parts; n++) {
                known.describe(n, stream);
                known.words(n == 0 ? started : 0, n == parts - 1 ? done : 0, use);
                if (!launched(kernels.transfers(), known.launch(), n == 0 || use == 0)) {
                    return;
                }
            }
        } finally {
            device.leave();
        }
    }

    /** By rank, where this rank reaches what lies so many bytes behind the beginning. */
    private long[] memory(long offset) {
        long[] memory = new long[nRanks];
        for (int q = 0; q < nRanks; q++) {
            SlotMemory.Reached other = reached[q];
            memory[q] = (other == null ? slots.address() : other.address()) + offset;
        }
        return memory;
    }

    @Override
    public @Nullable NcclException failure() {
        return failure;
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

    /** Without a stop all kernels of this rank are over, and it has been in no graph. */
    @Override
    public void close() {
        try {
            if (!stopped) {
                slots.leave(reached);
                device.freeHost(stop);
            }
        } finally {
            arena.close();
        }
    }
}
