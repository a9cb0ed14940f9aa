package org.jccl.bootstrap;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.jccl.harness.Deadline;
import org.jccl.platform.SocketAddress;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import java.util.concurrent.CompletableFuture;

/** Ids that are asked for on the thread jccl-net. */
@ExtendWith(Deadline.class)
class RootsTest {
    private static final SocketAddress HERE = SocketAddress.parse("127.0.0.1:4000");

    private final NetAgent agent = new NetAgent();
    private final Roots roots = new Roots(agent);
    private final Thread thread = new Thread(agent, "jccl-net-test");

    @BeforeEach
    void start() {
        thread.start();
    }

    @AfterEach
    void stop() throws InterruptedException {
        agent.submit(agent::close);
        thread.join();
    }

    /** A rank may come before the end of the turn in which its id was made. */
    @Test
    void idIsKnownFromItsCreationOn() {
        IdContent id = IdContent.create(HERE);
        CompletableFuture<@Nullable Root> found = new CompletableFuture<>();
        agent.submit(
                () -> {
                    roots.create(id);
                    found.complete(roots.find(Number16.of(id.number())));
                });
        assertNotNull(found.join());
    }

    @Test
    void idThatWasNeverMadeIsUnknown() {
        IdContent id = IdContent.create(HERE);
        CompletableFuture<@Nullable Root> found = new CompletableFuture<>();
        agent.submit(() -> found.complete(roots.find(Number16.of(id.number()))));
        assertNull(found.join());
    }
}
