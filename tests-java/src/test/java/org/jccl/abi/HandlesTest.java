package org.jccl.abi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.bootstrap.Rendezvous;
import org.jccl.comm.Creation;
import org.jccl.device.SimulatedDevice;
import org.jccl.device.SimulatedProvider;
import org.jccl.log.LastError;
import org.jccl.platform.Memory;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclConfig;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The numbers by which C callers hold communicators. */
final class HandlesTest {
    private final Creation creation =
            Creation.initBlocking(Rendezvous.createId(), 1, 0, NcclConfig.DEFAULT);

    @BeforeEach
    void create() throws InterruptedException {
        assertTrue(creation.await(0));
        creation.result();
    }

    @AfterEach
    void destroy() {
        creation.comm().abort();
    }

    @Test
    void numberIsNeverGivenTwiceAndItsPlaceIsUsedAgain() {
        Set<Long> given = new HashSet<>();
        long kept = Handles.add(creation.comm());
        int highest = 0;
        for (int i = 0; i < 1_000; i++) {
            long handle = Handles.add(creation.comm());
            assertTrue(given.add(handle));
            highest = Math.max(highest, (int) (handle >>> 4) & 0xfffffff);
            assertTrue(Handles.remove(handle));
            assertFalse(Handles.remove(handle));
        }
        assertTrue(highest < 1_000, "the table has grown to " + highest);
        assertSame(creation.comm(), Handles.get(kept, "Test"));
        assertTrue(Handles.remove(kept));
    }

    /** A communicator ends only once, so a handle that stayed could never be given back. */
    @Test
    void handleIsGoneOnceTheEndHasFailedHalfWay() throws InterruptedException {
        NcclConfig config = NcclConfig.DEFAULT.withDevice("simulated:6");
        SimulatedDevice device = SimulatedProvider.device(6);
        MemorySegment data = device.memory(4);
        for (boolean abort : new boolean[] {false, true}) {
            Creation onDevice = Creation.initBlocking(Rendezvous.createId(), 1, 0, config);
            assertTrue(onDevice.await(0));
            onDevice.result();
            long handle = Handles.add(onDevice.comm());
            // Of one rank, the device tells the host of sends and receives alone, by words.
            assertEquals(0, NcclApi.groupStart());
            assertEquals(0, Nccl.send(data.address(), 1, 7, 0, handle, 0));
            assertEquals(0, Nccl.recv(data.address(), 1, 7, 0, handle, 0));
            assertEquals(0, NcclApi.groupEnd());
            device.synchronize(0);
            device.refuse("freeHost by an error", 0);
            int code = LifeCycle.end(handle, abort);
            assertEquals(NcclResult.INTERNAL_ERROR.code(), code);
            assertFalse(Handles.remove(handle));
            assertEquals(NcclResult.INVALID_ARGUMENT.code(), LifeCycle.end(handle, abort));
        }
        device.release(data);
    }

    /** The call is parked before all are ready; a caller that interrupts it gets none of them. */
    @Test
    void nothingIsLeftOfAnInterruptedInitOfAll() {
        int n = 16;
        long comms = Subject.room(8L * n);
        long slice = Subject.room(8);
        Memory.putInt(slice, 1);
        int before = Handles.all().length;
        NcclApi.sliced(slice);
        try {
            assertEquals(NcclResult.IN_PROGRESS.code(), NcclApi.commInitAll(comms, n, 0));
        } finally {
            NcclApi.sliced(0);
        }
        assertEquals(before + n, Handles.all().length);
        assertEquals(NcclResult.REMOTE_ERROR.code(), NcclApi.interrupt(), LastError.get());
        assertTrue(LastError.get().contains("was interrupted"), LastError.get());
        assertEquals(before, Handles.all().length);
        for (int i = 0; i < n; i++) {
            assertEquals(0, Memory.getLong(comms + 8L * i));
        }
    }

    @Test
    void tableGrowsWithItsCommunicators() {
        List<Long> all = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            all.add(Handles.add(creation.comm()));
        }
        for (long handle : all) {
            assertSame(creation.comm(), Handles.get(handle, "Test"));
        }
        all.forEach(Handles::remove);
        assertEquals(ErrorKind.ALREADY_ENDED, refusal(all.get(99)));
    }

    @Test
    void whatWasOneIsToldFromWhatNeverWas() {
        long handle = Handles.add(creation.comm());
        assertTrue(Handles.remove(handle));
        assertEquals(ErrorKind.ALREADY_ENDED, refusal(handle));
        assertEquals(ErrorKind.NULL_ARGUMENT, refusal(0));
        assertEquals(ErrorKind.NOT_A_COMMUNICATOR, refusal(handle + 1));
        assertEquals(ErrorKind.NOT_A_COMMUNICATOR, refusal(handle & 0xffffffffL));
        assertEquals(ErrorKind.NOT_A_COMMUNICATOR, refusal(handle + (1000L << 32)));
        assertEquals(ErrorKind.NOT_A_COMMUNICATOR, refusal(-1));
        assertEquals(ErrorKind.NOT_A_COMMUNICATOR, refusal(Long.MIN_VALUE));
    }

    private static ErrorKind refusal(long handle) {
        return assertThrows(NcclException.class, () -> Handles.get(handle, "Test")).kind();
    }
}
