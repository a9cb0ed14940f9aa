package org.jccl.platform;

import org.jspecify.annotations.Nullable;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * What several users in this process have together, by key: made for the first of them, freed after
 * the last. Any thread may use it.
 */
public final class Shared<K, V> {
    private final class Used {
        private final V value;

        /** Changed only by computations of {@link #known} for its key, one at a time. */
        private int users;

        private Used(V value) {
            this.value = value;
        }

        private Used more() {
            users++;
            return this;
        }
    }

    private final Map<K, Used> known = new ConcurrentHashMap<>();
    private final Consumer<V> free;

    /** Made here, since {@link #leave} must not need memory. */
    private final BiFunction<K, Used, @Nullable Used> less = this::less;

    /** Nothing yet; {@code free} frees what its last user has left. */
    public Shared(Consumer<V> free) {
        this.free = free;
    }

    /**
     * One user more of what this key stands for.
     *
     * @param make makes it if there is none; null if it cannot be
     * @return null if there is none
     */
    public @Nullable V use(K key, Function<K, @Nullable V> make) {
        Used used =
                known.compute(key, (_, before) -> before == null ? made(key, make) : before.more());
        return used == null ? null : used.value;
    }

    private @Nullable Used made(K key, Function<K, @Nullable V> make) {
        V value = make.apply(key);
        return value == null ? null : new Used(value).more();
    }

    /** One user less; null, and freed, if that was the last. */
    private @Nullable Used less(K key, Used used) {
        if (--used.users > 0) {
            return used;
        }
        free.accept(used.value);
        return null;
    }

    /** One user less; call this once for each that {@link #use} has added. Takes no memory. */
    public void leave(K key) {
        known.computeIfPresent(key, less);
    }
}
