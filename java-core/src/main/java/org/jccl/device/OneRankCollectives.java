package org.jccl.device;

import org.jccl.call.Call;
import org.jccl.platform.Memory;
import org.jccl.type.Operation;

import java.util.ArrayList;
import java.util.List;

/**
 * Operations of a communicator of one rank, which are copies within the memory of its device: in
 * place, nothing is copied. No other rank is waited for, so an operation counts as begun once its
 * stream has it, and nothing is left of one that is stopped. Sums with a factor are not among them.
 */
public final class OneRankCollectives implements DeviceCollectives {
    private final Device device;

    /** What a group sends, in its order; used inside {@link #exchange} only. */
    private final List<Call> sends = new ArrayList<>();

    public OneRankCollectives(Device device) {
        this.device = device;
    }

    @Override
    public byte[] description() {
        return new byte[0];
    }

    @Override
    public void connect(int q, boolean here, byte[] description) {
        throw new IllegalStateException("there is no rank " + q);
    }

    @Override
    public boolean takes(Call call) {
        return call.composed() == null && call.factor() == null;
    }

    @Override
    public boolean awaitsRanks() {
        return false;
    }

    @Override
    public boolean isCaptured(long stream) {
        return device.isCaptured(stream);
    }

    @Override
    public boolean launch(Call call, long started, long done, long use) {
        long stream = call.stream();
        boolean there = call.input() == call.output() || call.count() == 0;
        boolean captured =
                there
                        ? device.isCaptured(stream)
                        : device.copy(call.output(), call.input(), call.partBytes(), stream);
        if (!captured) {
            tell(started, done, use, stream);
        }
        return captured;
    }

    /** Last, since what the device has refused never begins. */
    private void tell(long started, long done, long use, long stream) {
        if (done != 0) {
            device.write(done, use, stream);
            Memory.putLongRelease(started, use);
        }
    }

    @Override
    public void exchange(List<? extends Call> group, long started, long done, long use) {
        long stream = group.getFirst().stream();
        try {
            copyPairs(group, stream);
        } finally {
            sends.clear();
        }
        tell(started, done, use, stream);
    }

    /** The n-th receive of a group gets what its n-th send sends. */
    private void copyPairs(List<? extends Call> group, long stream) {
        for (int i = 0; i < group.size(); i++) {
            if (group.get(i).operation() == Operation.SEND) {
                sends.add(group.get(i));
            }
        }
        int pair = 0;
        for (int i = 0; i < group.size(); i++) {
            Call to = group.get(i);
            if (to.operation() == Operation.RECV) {
                Call from = sends.get(pair);
                long bytes = Math.min(from.partBytes(), to.partBytes());
                if (from.input() != to.output() && bytes > 0) {
                    device.copy(to.output(), from.input(), bytes, stream);
                }
                pair++;
            }
        }
    }

    @Override
    public void stop() {}

    @Override
    public void discard() {}

    @Override
    public void close() {}
}
