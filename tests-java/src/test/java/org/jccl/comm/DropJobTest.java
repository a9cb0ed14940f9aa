package org.jccl.comm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.bootstrap.Exchange;
import org.jccl.bootstrap.Rendezvous;
import org.jccl.log.LastError;
import org.jccl.type.NcclConfig;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Communicators that their users have lost, and jobs that fail where nothing should. */
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class DropJobTest {
    private final CountDownLatch ended = new CountDownLatch(1);

    private static Creation creation(int nRanks) {
        return Creation.init(Rendezvous.createId(), nRanks, 0, NcclConfig.DEFAULT);
    }

    private static Comm ready() {
        Creation creation = creation(1);
        assertTrue(creation.await(0));
        assertEquals(NcclResult.SUCCESS, creation.result());
        return creation.comm();
    }

    private void awaitEnd() throws InterruptedException {
        assertTrue(ended.await(2, TimeUnit.MINUTES));
    }

    @Test
    void aLostCommunicatorIsEndedAndNamed() throws Exception {
        Comm comm = ready();
        assertTrue(DropJob.start(comm, ended::countDown));
        awaitEnd();
        assertEquals(CommState.DESTROYED, comm.state());
        String said = LastError.get();
        assertTrue(said.contains(comm.identity() + " was garbage-collected before"), said);
    }

    @Test
    void oneThatIsStillBeingMadeIsAborted() throws Exception {
        Creation creation = creation(2);
        creation.start();
        assertTrue(DropJob.start(creation.comm(), ended::countDown));
        awaitEnd();
        assertEquals(CommState.DESTROYED, creation.comm().state());
    }

    @Test
    void oneThatHasBeenDestroyedIsNoneOfItsBusiness() {
        Comm comm = ready();
        comm.destroy();
        LastError.set("");
        assertFalse(DropJob.start(comm, ended::countDown));
        assertEquals(1, ended.getCount());
        assertEquals("", LastError.get());
    }

    @Test
    void oneThatIsBeingSplitIsEndedAfterTheSplit() throws Exception {
        Comm comm = ready();
        Creation split = Creation.split(comm, 0, 0, null);
        assertTrue(DropJob.start(comm, ended::countDown));
        TimeUnit.MILLISECONDS.sleep(50);
        assertEquals(CommState.READY, comm.state());
        assertTrue(split.await(0));
        awaitEnd();
        assertEquals(CommState.DESTROYED, comm.state());
        assertEquals(NcclResult.SUCCESS, split.result());
        assertEquals(NcclResult.SUCCESS, split.comm().asyncError());
        split.comm().destroy();
    }

    /** A job of a communicator in the making that fails with this in its first or last step. */
    private static final class Failing extends Creation {
        private final Error failure;
        private final boolean atEnd;

        Failing(Comm comm, Error failure, boolean atEnd) {
            super(comm, comm, "the planted job", 0);
            this.failure = failure;
            this.atEnd = atEnd;
        }

        @Override
        Exchange open() {
            if (!atEnd) {
                throw failure;
            }
            return new InitJob.Alone();
        }

        @Override
        boolean meet() {
            return true;
        }

        @Override
        void released(@Nullable NcclException why) {
            if (atEnd) {
                throw failure;
            }
        }
    }

    private static void assertFails(Error failure, boolean atEnd, NcclResult as, String says)
            throws InterruptedException {
        Comm comm = creation(2).comm();
        Creation failing = new Failing(comm, failure, atEnd);
        failing.start();
        while (comm.asyncError() == NcclResult.IN_PROGRESS) {
            TimeUnit.MILLISECONDS.sleep(1);
        }
        assertEquals(as, comm.asyncError());
        assertTrue(String.valueOf(comm.failure()).contains(says), () -> "" + comm.failure());
        assertTrue(failing.await(0));
        assertTrue(comm.abort());
    }

    @Test
    void aJobThatFailsInAnyWayMarksItsCommunicatorFailed() throws Exception {
        for (boolean atEnd : new boolean[] {false, true}) {
            OutOfMemoryError memory = new OutOfMemoryError("planted");
            assertFails(memory, atEnd, NcclResult.SYSTEM_ERROR, "JCCL_JVM_HEAP");
            StackOverflowError stack = new StackOverflowError("planted");
            assertFails(stack, atEnd, NcclResult.SYSTEM_ERROR, "this thread's stack");
            AssertionError other = new AssertionError("planted");
            assertFails(other, atEnd, NcclResult.INTERNAL_ERROR, "planted");
        }
    }

    @Test
    void jobsThatCannotEndDoNotUseTheThreadsUp() throws Exception {
        for (int i = 0; i < 8; i++) {
            JobAgent.start(new Endless());
        }
        Comm comm = ready();
        assertTrue(DropJob.start(comm, ended::countDown));
        awaitEnd();
    }

    /** A job whose end fails. */
    private static final class Endless implements Job {
        @Override
        public boolean advance() {
            return true;
        }

        @Override
        public void awaitActivity(int maxMs) {}

        @Override
        public void ended(@Nullable NcclException why) {
            throw new AssertionError("planted");
        }
    }
}
