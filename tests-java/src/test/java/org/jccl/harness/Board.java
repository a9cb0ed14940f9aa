package org.jccl.harness;

import org.jccl.Communicator;
import org.jccl.type.UniqueId;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.concurrent.locks.LockSupport;

/**
 * Notes that all ranks of a cluster, and the test, can put and read: files in the cluster's own
 * directory. A note is written once and appears whole.
 */
final class Board {
    private static final long LOOK_AGAIN_NS = 1_000_000;

    private final Path directory;

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
        while (!Files.exists(file)) {
            if (Thread.currentThread().isInterrupted()) {
                throw new IllegalStateException("interrupted while waiting for note " + name);
            }
            if (!Files.exists(directory)) {
                throw new IllegalStateException("the cluster ended before note " + name);
            }
            LockSupport.parkNanos(LOOK_AGAIN_NS);
        }
        try {
            return Files.readAllBytes(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
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
