package org.jccl.cuda;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.type.UniqueId;
import org.junit.jupiter.api.Test;

import java.util.concurrent.CompletableFuture;

/** On GPUs that reach each other. */
final class SlotMemoryTest {
    private static final int LIVES = 20;

    /** Two ranks, and two more if a farewell is still on its way when the next init begins. */
    private static final int MOST = 4;

    @Test
    void memoryServesTheNextCommunicator() {
        assumeTrue(Driver.unusable() == null, "there is no driver of CUDA");
        assumeTrue(Driver.count() > 1, "there is one GPU only");
        int before = SlotMemory.made();
        for (int life = 0; life < LIVES; life++) {
            UniqueId id = Communicator.uniqueId();
            CompletableFuture<Void> other = CompletableFuture.runAsync(() -> live(id, 1));
            live(id, 0);
            other.join();
        }
        int made = SlotMemory.made() - before;
        assertTrue(made > 0 && made <= MOST, made + " in " + LIVES + " lives");
    }

    private static void live(UniqueId id, int rank) {
        Config config = Config.DEFAULT.withDevice(CudaProvider.KIND + ":" + rank);
        Communicator.initRank(2, id, rank, config).close();
    }
}
