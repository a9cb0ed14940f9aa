package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.jccl.harness.Faults;
import org.jccl.harness.RankResult;
import org.jccl.type.NcclResult;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;

/** Sentences of ranks 0 and 1 on one side, 2 and 3 on the other; rank 3 is the victim. */
final class FaultCausesTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "rank 3 is lost: its process ended",
                "rank 3 is lost: its process ended while rank 1 waited for it in x on y; abort",
                "rank 1 gave up: rank 3 is lost: its process ended or closed the connection",
                "rank 3 is lost: its connection broke: Broken pipe (errno 32) (reported by rank 1)",
                "rank 3 (vm:12) has gone during the initialisation: its process ended or its"
                        + " connection broke (the connection was closed) (comm 0x1)",
                "rank 3's process 12 ended during init",
            })
    void isTheDeathOfTheVictim(String text) {
        assertDoesNotThrow(() -> FaultCauses.requireDeath(end(text), plan(FaultPlan.Kind.KILL)));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "rank 3 aborted comm 0x1 rank 3 nranks 4",
                "rank 3 has left comm 0x1 rank 0 nranks 4",
                "rank 3 gave up: out of memory",
                "rank 2 is lost: its process ended while rank 3 waited for it in x on y",
                "rank 2 is lost: its process ended (reported by rank 3)",
                "rank 13 is lost: its process ended",
                "rank 3 is lost: its machine has not answered for 9 ms (the machine or the network"
                        + " between is lost; JCCL_HOST_LOST sets the limit)",
                "rank 3 is lost: its connection broke: Connection timed out (errno 110)",
                "the process that made the unique id has ended: nobody listens at x any more",
            })
    void isNot(String text) {
        assertThrows(
                AssertionError.class,
                () -> FaultCauses.requireDeath(end(text), plan(FaultPlan.Kind.KILL)));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "rank 3 is lost: its machine has not answered for 9 ms (the machine or the network"
                        + " between is lost; JCCL_HOST_LOST sets the limit)",
                "rank 1 is lost: its connection broke: Connection timed out (errno 110) (the"
                        + " machine or the network between is lost; x) while rank 2 waited for it",
                "rank 2 (vm:12) has gone during the initialisation: its process ended or its"
                        + " connection broke (Connection timed out (errno 110)) (comm 0x1)",
            })
    void isACut(String text) {
        assertDoesNotThrow(
                () -> FaultCauses.requireCut(end(text), plan(FaultPlan.Kind.PARTITION), 0));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "rank 3 aborted comm 0x1 rank 3 nranks 4",
                "rank 3 is lost: its process ended",
                "rank 1 is lost: its machine has not answered for 9 ms (the machine or the network"
                        + " between is lost; JCCL_HOST_LOST sets the limit)",
                "rank 3 is lost: its machine has not answered for 9 ms (the machine or the network"
                        + " between is lost; x) while rank 2 waited for it",
                "rank 3 (vm:12) has gone during the initialisation: its process ended or its"
                        + " connection broke (the connection was closed) (comm 0x1)",
            })
    void isNoCut(String text) {
        assertThrows(
                AssertionError.class,
                () -> FaultCauses.requireCut(end(text), plan(FaultPlan.Kind.PARTITION), 0));
    }

    private static RankResult end(String text) {
        return new RankResult(
                0, RankResult.End.FAILED, NcclResult.REMOTE_ERROR, text, "", List.of());
    }

    private static FaultPlan plan(FaultPlan.Kind kind) {
        return new FaultPlan(
                0,
                4,
                FaultPlan.Links.TCP,
                kind,
                FaultPlan.Phase.INIT,
                3,
                1,
                0,
                Faults.Calls.ANY,
                0);
    }
}
