package org.jccl.executor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.jccl.device.SimulatedDevice;
import org.jccl.device.SimulatedProvider;
import org.jccl.type.NcclException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class StagingPoolTest {
    private final SimulatedDevice device = SimulatedProvider.device(0);
    private final Task task = new Task();
    private long pinnedBefore;
    private StagingPool pool;

    @BeforeEach
    void open() {
        pinnedBefore = device.pinnedBytes();
        pool = new StagingPool(device);
    }

    @AfterEach
    void closeAndFindNothingLeft() {
        pool.close();
        assertEquals(pinnedBefore, device.pinnedBytes());
    }

    private StagingBlock passed(StagingBlock block) {
        block.set(StagingBlock.PASSED);
        return block;
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 100})
    void blockServesAgainWhenItsStreamHasPassed(long bytes) {
        StagingBlock first = pool.take(task, bytes);
        pool.giveBack(first);
        StagingBlock second = pool.take(task, bytes);
        assertNotSame(first, second);
        passed(first);
        assertSame(first, pool.take(task, bytes));
        pool.giveBack(passed(first));
        pool.giveBack(passed(second));
    }

    /** Streams pass in any order, so a block that lies behind others is found as well. */
    @ParameterizedTest
    @ValueSource(longs = {0, 100})
    void blocksOfLateStreamsDoNotHideOthers(long bytes) {
        StagingBlock[] late = new StagingBlock[20];
        for (int i = 0; i < late.length; i++) {
            late[i] = pool.take(task, bytes);
        }
        StagingBlock early = pool.take(task, bytes);
        for (StagingBlock block : late) {
            pool.giveBack(block);
        }
        pool.giveBack(passed(early));
        int taken = 0;
        StagingBlock found = pool.take(task, bytes);
        while (found != early && taken < 4) {
            pool.giveBack(passed(found));
            found = pool.take(task, bytes);
            taken++;
        }
        assertSame(early, found);
        pool.giveBack(passed(early));
        for (StagingBlock block : late) {
            block.set(StagingBlock.PASSED);
        }
    }

    /** So many bytes do not fit four times; pages that nobody touches take no memory. */
    @Test
    void allIsLookedThroughBeforeACallIsRefused() {
        long large = 1_200L << 20;
        StagingBlock[] late = new StagingBlock[20];
        for (int i = 0; i < late.length; i++) {
            late[i] = pool.take(task, 0);
        }
        StagingBlock[] early = new StagingBlock[3];
        for (int i = 0; i < early.length; i++) {
            early[i] = pool.take(task, large);
        }
        for (StagingBlock block : late) {
            pool.giveBack(block);
        }
        assertThrows(NcclException.class, () -> pool.take(task, large));
        for (StagingBlock block : early) {
            pool.giveBack(passed(block));
        }
        pool.giveBack(passed(pool.take(task, large)));
        for (StagingBlock block : late) {
            block.set(StagingBlock.PASSED);
        }
    }

    @Test
    void smallCallsDoNotTakeMuchLargerBlocks() {
        StagingBlock large = pool.take(task, 100_000);
        pool.giveBack(passed(large));
        StagingBlock small = pool.take(task, 100);
        assertNotSame(large, small);
        assertSame(large, pool.take(task, 60_000));
        pool.giveBack(passed(large));
        pool.giveBack(passed(small));
    }
}
