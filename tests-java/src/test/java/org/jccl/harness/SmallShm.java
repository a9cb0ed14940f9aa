package org.jccl.harness;

import java.io.IOException;
import java.util.List;

/** A mount namespace in which /dev/shm holds little, as a container's. */
public final class SmallShm implements Namespaces {
    private final Process holder;

    private SmallShm(Process holder) {
        this.holder = holder;
    }

    /**
     * Makes one.
     *
     * @throws AssertionError with the system's reason if it refuses namespaces
     */
    public static SmallShm of(long bytes) {
        try {
            return new SmallShm(
                    Namespaces.hold(
                            List.of("unshare", "--user", "--map-root-user", "--mount"),
                            "mount -t tmpfs -o size=" + bytes + " tmpfs /dev/shm && "));
        } catch (IOException e) {
            throw new AssertionError("mount namespaces are refused here: " + e.getMessage(), e);
        }
    }

    @Override
    public List<String> enter(int which) {
        return Namespaces.enter(holder, "--mount");
    }

    @Override
    public void close() {
        Namespaces.end(holder);
    }
}
