package org.jccl.harness;

import org.jccl.Communicator;
import org.jccl.type.UniqueId;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Notes that all ranks of a cluster, and the test, can put and read: files in the cluster's own
 * directory. A note is written once and appears whole.
 */
final class Board {
    private static final long LOOK_AGAIN_MS = 1;

    private final Path directory;

    /** By note: one thread of a process looks for it at a time, so that a thousand do not. */
    private final Map<Path, Lock> looking = new ConcurrentHashMap<>();

    Board(Path directory) {
        this.directory = directory;
    }

    void post(String name, byte[] content) {
        try {
            Path draft = Files.createTempFile(directory, "draft", "");
            Files.write(draft, content);
            Files.move(draft, directory.resolve(name), StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    byte[] await(String name) {
        Path file = directory.resolve(name);
        try {
            // A scenario's thread may be interrupted, and may still read what is there.
            if (!Files.exists(file)) {
                lookFor(file);
            }
            return Files.readAllBytes(file);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while waiting for note " + name, e);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void lookFor(Path file) throws InterruptedException {
        Lock look = looking.computeIfAbsent(file, _ -> new ReentrantLock());
        look.lockInterruptibly();
        try {
            while (!Files.exists(file)) {
                if (!Files.exists(directory)) {
                    throw new IllegalStateException("the cluster ended before note " + file);
                }
                Thread.sleep(LOOK_AGAIN_MS);
            }
        } finally {
            look.unlock();
        }
    }

    UniqueId uniqueId(String name, boolean maker) {
        String note = "id-" + name;
        if (maker) {
            synchronized (this) {
                if (!Files.exists(directory.resolve(note))) {
                    post(note, Communicator.uniqueId().toBytes());
                }
            }
        }
        return new UniqueId(await(note));
    }
}
