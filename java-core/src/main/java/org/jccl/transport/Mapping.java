package org.jccl.transport;

import org.jccl.platform.SharedMemory;
import org.jspecify.annotations.Nullable;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/**
 * A region's memory in this process: mapped once for all ranks of the process that use it, and
 * unmapped when the last of them has closed it. So n ranks that are threads of one process have n
 * mappings instead of n times n; the system allows a process some 65,000.
 */
final class Mapping implements AutoCloseable {
    private record Nonce(long first, long second) {}

    private static final Map<Nonce, Mapping> SHARED = new ConcurrentHashMap<>();

    private final @Nullable Nonce nonce;
    private final SharedMemory memory;

    /** Changed only by computations of {@link #SHARED} for this nonce, one at a time. */
    private int users;

    private Mapping(@Nullable Nonce nonce, SharedMemory memory) {
        this.nonce = nonce;
        this.memory = memory;
    }

    /** Memory of one rank's mirror. */
    static Mapping unshared(SharedMemory memory) {
        return new Mapping(null, memory);
    }

    /**
     * The memory with this nonce, by which other ranks of this process find it.
     *
     * @param map maps it if nobody in this process has
     */
    static Mapping of(long nonce0, long nonce1, Supplier<SharedMemory> map) {
        return SHARED.compute(
                new Nonce(nonce0, nonce1),
                (nonce, known) -> {
                    Mapping used = known == null ? new Mapping(nonce, map.get()) : known;
                    used.users++;
                    return used;
                });
    }

    SharedMemory memory() {
        return memory;
    }

    /** One rank uses it no longer. */
    @Override
    public void close() {
        if (nonce == null) {
            memory.close();
        } else {
            SHARED.computeIfPresent(nonce, (_, used) -> used.less());
        }
    }

    /** One user less; null, and unmapped, if that was the last. */
    private @Nullable Mapping less() {
        if (--users > 0) {
            return this;
        }
        memory.close();
        return null;
    }
}
