package org.jccl.abi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.Communicator;
import org.jccl.comm.CommState;
import org.jccl.comm.Creation;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclConfig;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.UniqueId;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
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
        try (Arena arena = Arena.ofConfined()) {
            long id = arena.allocate(UniqueId.BYTES).address();
            assertEquals(0, NcclApi.getUniqueId(id));
            assertEquals(0, NcclApi.commInitRankScalable(out, 1, 0, 1, id, 0));
        }
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
    void memoryThatAProgramLeavesIsFreed() {
        elsewhere(
                () -> {
                    Guest guest = team.getFirst();
                    guest.enter();
                    ByteBuffer block = GuestApi.block();
                    assertEquals(0, NcclApi.memAlloc(GuestApi.address(block), 100));
                    long address = block.getLong(0);
                    GuestApi.allocated(address);
                    guest.freeMemory();
                    assertEquals(INVALID, NcclApi.memFree(address));
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
                    ByteBuffer content = GuestApi.memory(128);
                    long at = GuestApi.address(content);
                    assertEquals(0, NcclApi.getUniqueId(at));
                    byte[] id = new byte[128];
                    content.get(0, id);
                    GuestApi.give(GuestApi.nextExchange(), HexFormat.of().formatHex(id));
                    block.putLong(8, 1);
                    int begun = NcclApi.commInitRankScalable(out, 2, 0, 1, at, 0);
                    assertEquals(NcclResult.IN_PROGRESS.code(), begun);
                    block.putLong(8, 1);
                    assertEquals(begun, NcclApi.resume());
                    team.getLast().close();
                    block.putLong(8, 10_000);
                    assertEquals(NcclResult.REMOTE_ERROR.code(), NcclApi.resume());
                    assertTrue(GuestApi.lastError().contains("program of rank 1 has ended"));
                    assertEquals(0, GuestApi.parked());
                });
    }

    /** The making of a communicator of two ranks by an id that is the text with this number. */
    private static Creation watched(int number, boolean blocking) {
        UniqueId id = Communicator.uniqueId();
        GuestApi.give(number, HexFormat.of().formatHex(id.toBytes()));
        NcclConfig config = NcclConfig.DEFAULT.withBlocking(blocking);
        Creation creation = Creation.init(id, 2, 0, config);
        Guest.current().watch(id.toBytes(), creation);
        return creation;
    }

    @Test
    void anInitThatDoesNotBlockEndsAsWell() {
        elsewhere(
                () -> {
                    team.getFirst().enter();
                    Creation creation = watched(GuestApi.nextExchange(), false);
                    creation.start();
                    assertEquals(CommState.INITIALIZING, creation.comm().state());
                    team.getLast().close();
                    while (creation.comm().asyncError() == NcclResult.IN_PROGRESS) {
                        Thread.onSpinWait();
                    }
                    assertEquals(NcclResult.REMOTE_ERROR, creation.comm().asyncError());
                    creation.comm().abort();
                });
    }

    @Test
    void aRankThatWaitedInVainForATextHasNotHadIt() {
        elsewhere(
                () -> {
                    team.getLast().enter();
                    int number = GuestApi.nextExchange();
                    GuestApi.missed(number);
                    assertFalse(GuestApi.hasEnded(0, 2));
                    team.getLast().close();
                    Creation creation = watched(number, true);
                    assertTrue(creation.await(System.nanoTime() + 60_000_000_000L));
                    assertEquals(
                            ErrorKind.RANK_LEFT_INIT,
                            assertThrows(NcclException.class, creation::result).kind());
                    assertTrue(GuestApi.hasEnded(1, 2));
                    assertFalse(GuestApi.hasEnded(1, 3));
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
