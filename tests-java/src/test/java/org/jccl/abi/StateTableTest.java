package org.jccl.abi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.log.LastError;
import org.jccl.platform.Memory;
import org.jccl.type.NcclResult;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Every function of a communicator in every state of its life: the code that it returns, what it
 * says and, for ncclCommGetAsyncError, what it finds. With and without a thread that polls the
 * communicator without pause meanwhile.
 */
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class StateTableTest {
    /**
     * InGroup is an all-reduce in an open group, GroupEnd the end of a group of one. A communicator
     * is late after an operation has reached its time limit, stopped after one was interrupted, and
     * dropped after one of its groups has failed.
     */
    private static final String NON_BLOCKING =
            """
            call          null bogus destroyed aborted init  ready  split  busy   lost   late   stopped  dropped  broken  finishing final
            AllReduce     null bogus gone      gone    early now    early  now    lost   late   stopped  dropped  broken  final     final
            Broadcast     null bogus gone      gone    early now    early  now    lost   late   stopped  dropped  broken  final     final
            Bcast         null bogus gone      gone    early now    early  now    lost   late   stopped  dropped  broken  final     final
            AllGather     null bogus gone      gone    early now    early  now    lost   late   stopped  dropped  broken  final     final
            ReduceScatter null bogus gone      gone    early now    early  now    lost   late   stopped  dropped  broken  final     final
            Reduce        null bogus gone      gone    early now    early  now    lost   late   stopped  dropped  broken  final     final
            AlltoAll      null bogus gone      gone    early now    early  now    lost   late   stopped  dropped  broken  final     final
            Gather        null bogus gone      gone    early now    early  now    lost   late   stopped  dropped  broken  final     final
            Scatter       null bogus gone      gone    early now    early  now    lost   late   stopped  dropped  broken  final     final
            Send          null bogus gone      gone    early now    early  now    lost   late   stopped  dropped  broken  final     final
            Recv          null bogus gone      gone    early now    early  now    lost   late   stopped  dropped  broken  final     final
            InGroup       null bogus gone      gone    early ok     early  ok     lost   late   stopped  dropped  broken  final     final
            GroupEnd      null bogus gone      gone    early now    early  now    lost   late   stopped  dropped  broken  final     final
            Start         null bogus gone      gone    early now    early  now    lost   late   stopped  dropped  broken  final     final
            StartComposed null bogus gone      gone    early now    early  now    lost   late   stopped  dropped  broken  final     final
            Split         null bogus gone      gone    early ok     early  ok     lost   late   stopped  dropped  broken  final     final
            Finalize      ok   bogus gone      gone    early ok     early  now    lost   late   stopped  dropped  broken  final     final
            Destroy       ok   bogus gone      gone    early ok     early  ok     ok     ok     ok       ok       ok      ok        ok
            Abort         ok   bogus gone      gone    ok    ok     ok     ok     ok     ok     ok       ok       ok      ok        ok
            GetAsyncError null bogus gone      gone    =now  =ok    =now   =now   =lost  =late  =stopped =dropped =broken =now      =ok
            Count         null bogus gone      gone    early ok     early  ok     ok     ok     ok       ok       broken  ok        ok
            CuDevice      null bogus gone      gone    early ok     early  ok     ok     ok     ok       ok       broken  ok        ok
            UserRank      null bogus gone      gone    early ok     early  ok     ok     ok     ok       ok       broken  ok        ok
            Options       null bogus gone      gone    ok    ok     early  ok     ok     ok     ok       ok       broken  final     final
            Stats         null bogus gone      gone    early ok     ok     ok     ok     ok     ok       ok       broken  ok        ok
            Poll          null bogus gone      gone    early ticket ticket ticket ticket ticket ticket   ticket   broken  ticket    ticket
            Interrupt     null bogus gone      gone    ok    ok     ok     ok     ok     ok     ok       ok       ok      ok        ok
            """;

    /**
     * The states that one thread's call makes, while another thread makes the call of the table.
     */
    private static final String BLOCKING =
            """
            call          null bogus destroyed aborted init  ready  split  busy   lost   late   stopped  finishing final
            AllReduce     null bogus gone      gone    early waits  early  waits  lost   late   stopped  final     final
            Broadcast     null bogus gone      gone    early waits  early  waits  lost   late   stopped  final     final
            Bcast         null bogus gone      gone    early waits  early  waits  lost   late   stopped  final     final
            AllGather     null bogus gone      gone    early waits  early  waits  lost   late   stopped  final     final
            ReduceScatter null bogus gone      gone    early waits  early  waits  lost   late   stopped  final     final
            Reduce        null bogus gone      gone    early waits  early  waits  lost   late   stopped  final     final
            AlltoAll      null bogus gone      gone    early waits  early  waits  lost   late   stopped  final     final
            Gather        null bogus gone      gone    early waits  early  waits  lost   late   stopped  final     final
            Scatter       null bogus gone      gone    early waits  early  waits  lost   late   stopped  final     final
            Send          null bogus gone      gone    early waits  early  waits  lost   late   stopped  final     final
            Recv          null bogus gone      gone    early waits  early  waits  lost   late   stopped  final     final
            InGroup       null bogus gone      gone    early ok     early  ok     lost   late   stopped  final     final
            GroupEnd      null bogus gone      gone    early waits  early  waits  lost   late   stopped  final     final
            Start         null bogus gone      gone    early now    early  now    lost   late   stopped  final     final
            StartComposed null bogus gone      gone    early now    early  now    lost   late   stopped  final     final
            Split         null bogus gone      gone    early waits  early  waits  lost   late   stopped  final     final
            Finalize      ok   bogus gone      gone    early ok     early  waits  lost   late   stopped  final     final
            Destroy       ok   bogus gone      gone    early ok     early  ok     ok     ok     ok       ok        ok
            Abort         ok   bogus gone      gone    ok    ok     ok     ok     ok     ok     ok       ok        ok
            GetAsyncError null bogus gone      gone    =now  =ok    =now   =ok    =lost  =late  =stopped =ok       =ok
            Count         null bogus gone      gone    early ok     early  ok     ok     ok     ok       ok        ok
            CuDevice      null bogus gone      gone    early ok     early  ok     ok     ok     ok       ok        ok
            UserRank      null bogus gone      gone    early ok     early  ok     ok     ok     ok       ok        ok
            Options       null bogus gone      gone    ok    ok     early  ok     ok     ok     ok       final     final
            Stats         null bogus gone      gone    early ok     ok     ok     ok     ok     ok       ok        ok
            Poll          null bogus gone      gone    early ticket ticket ticket ticket ticket ticket   ticket    ticket
            Interrupt     null bogus gone      gone    ok    ok     ok     ok     ok     ok     ok       ok        ok
            """;

    private static final long WAITS_MS = 50;
    private static final long FREED_MS = 120_000;

    /** A result and a part of its sentence. */
    private record Answer(NcclResult result, String part) {}

    private static final Map<String, Answer> ANSWERS =
            Map.ofEntries(
                    answer("ok", NcclResult.SUCCESS, ""),
                    answer("now", NcclResult.IN_PROGRESS, ""),
                    answer("null", NcclResult.INVALID_ARGUMENT, "argument is NULL"),
                    answer("bogus", NcclResult.INVALID_ARGUMENT, "corrupted comm object"),
                    answer("gone", NcclResult.INVALID_ARGUMENT, "already been destroyed"),
                    answer("early", NcclResult.INVALID_ARGUMENT, "returned ncclSuccess"),
                    answer("final", NcclResult.INVALID_ARGUMENT, "has been finalized"),
                    answer("lost", NcclResult.REMOTE_ERROR, "rank 1 aborted"),
                    answer("late", NcclResult.TIMEOUT, "rank 1"),
                    answer("stopped", NcclResult.REMOTE_ERROR, "was interrupted by its user"),
                    answer("broken", NcclResult.INVALID_USAGE, "came twice"),
                    answer("ticket", NcclResult.INVALID_ARGUMENT, "ticket 77 was never given"),
                    answer("dropped", NcclResult.INVALID_ARGUMENT, "invalid type -1"));

    private static Map.Entry<String, Answer> answer(String word, NcclResult result, String part) {
        return Map.entry(word, new Answer(result, part));
    }

    /** One state, and what each function answers in it. */
    record Column(
            boolean blocking,
            String state,
            boolean polled,
            List<String> calls,
            List<String> answers) {
        @Override
        public String toString() {
            return (blocking ? "blocking, " : "") + state + (polled ? ", polled" : "");
        }
    }

    static List<Column> columns() {
        List<Column> columns = new ArrayList<>();
        for (boolean blocking : new boolean[] {false, true}) {
            List<List<String>> rows =
                    (blocking ? BLOCKING : NON_BLOCKING)
                            .lines()
                            .map(line -> Arrays.asList(line.split(" +")))
                            .toList();
            for (int i = 1; i < rows.getFirst().size(); i++) {
                int column = i;
                String state = rows.getFirst().get(i);
                List<String> calls = rows.stream().skip(1).map(row -> row.get(0)).toList();
                List<String> words = rows.stream().skip(1).map(row -> row.get(column)).toList();
                columns.add(new Column(blocking, state, false, calls, words));
                columns.add(new Column(blocking, state, true, calls, words));
            }
        }
        return columns;
    }

    /** Otherwise a call's sentence could be that of another thread. */
    @BeforeAll
    static void keepFailuresForThreads() {
        LastError.keepForThreads();
    }

    @ParameterizedTest
    @MethodSource("columns")
    void everyFunctionAnswersAsTheTableSays(Column column) throws Exception {
        int before = Handles.all().length;
        for (int i = 0; i < column.calls().size(); i++) {
            String call = column.calls().get(i);
            try (Subject subject = Subject.in(column.state(), column.blocking())) {
                AtomicBoolean over = new AtomicBoolean();
                Thread poller = column.polled() ? poller(subject.handle(), over) : null;
                try {
                    check(subject, call, column.answers().get(i), column.polled());
                } finally {
                    over.set(true);
                    if (poller != null) {
                        poller.join();
                    }
                }
            }
            assertEquals(before, Handles.all().length, call + " left a handle");
        }
    }

    /** A caller that polls a started operation learns how it ended, as often as it asks. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void ticketSaysHowItsOperationEnded(boolean blocking) throws Exception {
        for (String end : List.of("lost", "late", "stopped", "gone")) {
            try (Subject subject = Subject.in("ready", blocking)) {
                long out = Subject.room(8);
                assertEquals(NcclResult.IN_PROGRESS.code(), subject.make("Start", out), end);
                long ticket = Memory.getLong(out);
                int code = NcclApi.poll(subject.handle(), ticket, 0);
                assertEquals(NcclResult.IN_PROGRESS.code(), code, end);
                subject.end(end);
                Answer answer = Objects.requireNonNull(ANSWERS.get(end));
                for (int again = 0; again < 2; again++) {
                    do {
                        code = NcclApi.poll(subject.handle(), ticket, 1);
                    } while (code == NcclResult.IN_PROGRESS.code());
                    String said = LastError.get();
                    assertEquals(answer.result(), NcclResult.of(code), said);
                    assertTrue(said.contains(answer.part()), said);
                }
            }
        }
    }

    /** The caller polls each communicator of the group until its operations are over. */
    @Test
    void groupOfANonBlockingCommunicatorIsInProgressUntilItsOperationsAreOver() throws Exception {
        try (Subject subject = Subject.in("ready", false)) {
            assertEquals(0, NcclApi.groupStart());
            assertEquals(0, NcclApi.groupStart());
            assertEquals(0, subject.make("AllReduce", 0));
            assertEquals(NcclResult.SUCCESS, subject.state());
            assertEquals(0, NcclApi.groupEnd(), "an inner end launches nothing");
            assertEquals(NcclResult.SUCCESS, subject.state());
            assertEquals(NcclResult.IN_PROGRESS.code(), NcclApi.groupEnd());
            assertEquals(NcclResult.IN_PROGRESS, subject.state());
            subject.peerJoinsAllReduce();
            assertEquals(NcclResult.SUCCESS, subject.state());
        }
    }

    /** The group's first error is that of its communicators, and nothing of it is launched. */
    @Test
    void failedGroupIsTheStateOfItsNonBlockingCommunicators() throws Exception {
        try (Subject subject = Subject.in("ready", false)) {
            NcclApi.groupStart();
            assertEquals(0, subject.make("AllReduce", 0));
            int code = NcclResult.INVALID_ARGUMENT.code();
            assertEquals(code, Nccl.allReduce(0, 0, 4, -1, 0, subject.handle(), 0));
            assertEquals(NcclResult.SUCCESS, subject.state());
            assertEquals(code, NcclApi.groupEnd());
            assertEquals(NcclResult.INVALID_ARGUMENT, subject.state());
        }
    }

    private static Thread poller(long handle, AtomicBoolean over) {
        return Thread.ofPlatform()
                .start(
                        () -> {
                            long out = Subject.room(4);
                            while (!over.get()) {
                                NcclApi.commGetAsyncError(handle, out);
                            }
                        });
    }

    private static void check(Subject subject, String call, String word, boolean polled)
            throws InterruptedException {
        if (word.equals("waits")) {
            requireFreedByAbort(subject, call, polled);
            return;
        }
        long out = Subject.room(8);
        if (call.equals("Destroy") && word.equals("ok")) {
            subject.peerGoesSoon();
        }
        NcclResult before = subject.asyncState();
        int code = subject.make(call, out);
        // Of this thread: others tell of the failure of the communicator at any time.
        String said = LastError.ofThread();
        if (!polled) {
            checkAfter(subject, call, word, before);
        }
        boolean found = word.startsWith("=");
        Answer answer = ANSWERS.get(found ? word.substring(1) : word);
        String what = call + " should say " + word + ", said " + NcclResult.of(code) + ": " + said;
        assertEquals(found ? NcclResult.SUCCESS : answer.result(), NcclResult.of(code), what);
        if (found) {
            assertEquals(answer.result(), NcclResult.of(Memory.getInt(out)), what);
        }
        assertTrue(polled || said.contains(answer.part()), what);
    }

    /** A call that is refused or only asks changes nothing; after an end the handle is unknown. */
    private static void checkAfter(Subject subject, String call, String word, NcclResult before) {
        NcclResult after = subject.asyncState();
        String what = call + ", which says " + word + ", made " + after + " of " + before;
        boolean ends = call.equals("Destroy") || call.equals("Abort");
        if (ends && word.equals("ok")) {
            assertEquals(NcclResult.INVALID_ARGUMENT, after, what);
        } else if (call.equals("Finalize") && word.equals("ok") && subject.handle() != 0) {
            int again = subject.make("AllReduce", Subject.room(8));
            assertEquals(NcclResult.INVALID_ARGUMENT.code(), again, what);
        } else if (!word.equals("ok") && !word.equals("now") && !call.equals("GroupEnd")) {
            assertEquals(before, after, what);
        }
    }

    /** Makes a call that has to wait, because the peer never comes; only abort frees it. */
    private static void requireFreedByAbort(Subject subject, String call, boolean polled)
            throws InterruptedException {
        int[] code = {-1};
        String[] said = {""};
        Thread caller =
                Thread.ofPlatform()
                        .start(
                                () -> {
                                    code[0] = subject.make(call, Subject.room(8));
                                    said[0] = LastError.get();
                                });
        long end = System.nanoTime() + FREED_MS * 1_000_000;
        while (caller.isAlive() && !waits(caller)) {
            assertTrue(
                    System.nanoTime() - end < 0,
                    () -> call + " does not wait: " + Arrays.toString(caller.getStackTrace()));
            Thread.sleep(1);
        }
        caller.join(WAITS_MS);
        assertTrue(caller.isAlive(), () -> call + " returned " + NcclResult.of(code[0]));
        assertEquals(0, NcclApi.commAbort(subject.handle()));
        caller.join(FREED_MS);
        assertFalse(caller.isAlive(), call + " is not freed by abort");
        String what = call + " said " + NcclResult.of(code[0]) + ": " + said[0];
        assertEquals(NcclResult.REMOTE_ERROR, NcclResult.of(code[0]), what);
        assertTrue(polled || said[0].contains("rank 0 aborted comm "), what);
    }

    /** Whether the thread's call has been accepted, and waits for its end. */
    private static boolean waits(Thread caller) {
        return Arrays.stream(caller.getStackTrace())
                .anyMatch(
                        frame ->
                                frame.getClassName().equals(Parking.class.getName())
                                        && frame.getMethodName().equals("await"));
    }
}
