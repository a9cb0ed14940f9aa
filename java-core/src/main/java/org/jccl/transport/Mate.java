package org.jccl.transport;

import org.jccl.platform.ProcessWatch;
import org.jccl.type.LibraryError;
import org.jspecify.annotations.Nullable;

/** A rank whose region this one maps: another of its process or node, or itself. */
public final class Mate extends Peer {
    private final @Nullable ProcessWatch watch;
    private boolean disconnected;

    /**
     * A mate, which owns the region and the watch.
     *
     * @param watch on its process, null if that is this one
     */
    public Mate(Region region, @Nullable ProcessWatch watch) {
        super(region);
        this.watch = watch;
    }

    @Override
    public boolean endsAlone() {
        return watch != null;
    }

    @Override
    public boolean post(
            Area area,
            long offset,
            long address,
            int length,
            long flagOffset,
            long flagValue,
            long callNumber,
            long callDescription,
            long callCount) {
        throw LibraryError.IMPOSSIBLE.says("rank %s has no TCP link", region().rank());
    }

    @Override
    public @Nullable String ended() {
        return watch != null && watch.ended() ? "its process ended" : null;
    }

    @Override
    protected void disconnect() {
        if (watch != null && !disconnected) {
            disconnected = true;
            watch.close();
        }
    }
}
