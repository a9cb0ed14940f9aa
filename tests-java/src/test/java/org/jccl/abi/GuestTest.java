package org.jccl.abi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.type.NcclResult;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Programs of a guest language as ranks: their memory, their texts, and what they leave behind. */
final class GuestTest {
    private static final int INVALID = NcclResult.INVALID_ARGUMENT.code();

    private final List<Guest> team = Guest.team(2);

    @AfterEach
    void close() {
        team.forEach(Guest::close);
    }

    /** Runs something on a thread of its own. */
    private static void elsewhere(Runnable work) {
        CompletableFuture.runAsync(work, task -> Thread.ofPlatform().start(task)).join();
    }

    private static long init() {
        ByteBuffer block = GuestApi.block();
        long out = GuestApi.address(block);
        assertEquals(0, NcclApi.getUniqueId(out + 16));
        assertEquals(0, NcclApi.commInitRankScalable(out, 1, 0, 1, out + 16, 0));
        long handle = block.getLong(0);
        GuestApi.made(handle);
        return handle;
    }

    @Test
    void aThreadHasOneBlock() {
        ByteBuffer block = GuestApi.block();
        assertSame(block, GuestApi.block());
        elsewhere(() -> assertNotSame(block, GuestApi.block()));
        assertEquals(0, GuestApi.address(ByteBuffer.allocate(8)));
        ByteBuffer moved = GuestApi.memory(16).position(8);
        assertEquals(8 + GuestApi.address(moved), GuestApi.address(moved.slice()));
    }

    @Test
    void communicatorsOfAProgramThatHasEndedAreAborted() {
        long[] left = new long[2];
        elsewhere(
                () -> {
                    team.getFirst().enter();
                    left[0] = init();
                    // A thread that the program has started belongs to it.
                    elsewhere(() -> left[1] = init());
                });
        long own = init();
        for (long handle : left) {
            assertEquals(0, NcclApi.commCount(handle, GuestApi.address(GuestApi.block())));
        }
        team.getFirst().close();
        for (long handle : left) {
            assertEquals(INVALID, NcclApi.commCount(handle, GuestApi.address(GuestApi.block())));
        }
        assertEquals(0, NcclApi.commAbort(own));
    }

    @Test
    void aThreadThatOutlivesItsProgramMakesNoCommunicator() {
        team.getLast().close();
        elsewhere(
                () -> {
                    team.getLast().enter();
                    assertEquals(INVALID, NcclApi.commDestroy(init()));
                });
    }

    @Test
    void rankZeroGivesTextsInOrder() {
        elsewhere(
                () -> {
                    team.getFirst().enter();
                    GuestApi.give(GuestApi.nextExchange(), "first");
                    GuestApi.give(GuestApi.nextExchange(), "second");
                });
        elsewhere(
                () -> {
                    team.getLast().enter();
                    assertEquals("first", taken());
                    assertEquals("second", taken());
                    assertEquals("", taken());
                    team.getFirst().close();
                    assertEquals(GuestApi.NO_MORE, taken());
                });
    }

    @Test
    void anInitEndsIfARankOfItsTeamHasEndedBeforeIt() {
        elsewhere(
                () -> {
                    team.getFirst().enter();
                    ByteBuffer block = GuestApi.block();
                    long out = GuestApi.address(block);
                    assertEquals(0, NcclApi.getUniqueId(out + 16));
                    byte[] id = new byte[128];
                    block.get(16, id);
                    GuestApi.give(GuestApi.nextExchange(), HexFormat.of().formatHex(id));
                    block.putLong(8, 1);
                    int begun = NcclApi.commInitRankScalable(out, 2, 0, 1, out + 16, 0);
                    assertEquals(NcclResult.IN_PROGRESS.code(), begun);
                    block.putLong(8, 1);
                    assertEquals(begun, GuestApi.resumeInit(out + 16));
                    team.getLast().close();
                    block.putLong(8, 1);
                    int ended = GuestApi.resumeInit(out + 16);
                    assertEquals(NcclResult.REMOTE_ERROR.code(), ended);
                    assertTrue(GuestApi.lastError().contains("program of rank 1 has ended"));
                    assertEquals(0, GuestApi.parked());
                });
    }

    private static String taken() {
        try {
            return GuestApi.taken(GuestApi.nextExchange(), 20);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void aThreadIsToldItsOwnFailureThenTheNewest() {
        GuestApi.block();
        assertEquals(INVALID, NcclApi.commCount(1, 0));
        String own = GuestApi.lastError();
        elsewhere(() -> assertEquals(INVALID, NcclApi.memFree(77)));
        String newest = GuestApi.lastError();
        assertNotEquals(own, newest);
        assertTrue(newest.contains("MemFree"), newest);
        assertEquals(INVALID, NcclApi.commCount(1, 0));
        elsewhere(() -> assertEquals(INVALID, NcclApi.memFree(78)));
        assertEquals(own, GuestApi.lastError());
    }

    @Test
    void whatIsNotDoneSaysSo() {
        assertEquals(NcclResult.INVALID_USAGE.code(), GuestApi.later("ncclCommGrow"));
        assertTrue(GuestApi.lastError().startsWith("ncclCommGrow is not done yet in JCCL "));
    }
}
