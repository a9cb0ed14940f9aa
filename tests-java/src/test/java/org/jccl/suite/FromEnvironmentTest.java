package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.Communicator;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.net.ServerSocket;

/** Communicators of ranks that know their job by variables. tests-py has those of launchers. */
final class FromEnvironmentTest {
    /** Several communicators one after the other. */
    public static final class Sum implements Scenario {
        @Override
        public void run(Rank rank) {
            for (int i = 0; i < 3; i++) {
                try (Communicator comm = Communicator.fromEnvironment()) {
                    assertEquals(rank.number(), comm.rank());
                    assertEquals(rank.nRanks(), comm.count());
                    Sums.allReduce(comm, 10_000);
                }
            }
        }
    }

    private static Cluster launched(int nRanks) {
        Cluster cluster = Cluster.processes(nRanks).environment("WORLD_SIZE", "" + nRanks);
        for (int rank = 0; rank < nRanks; rank++) {
            cluster = cluster.environment(rank, "RANK", "" + rank);
        }
        return cluster;
    }

    private static String freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return "" + socket.getLocalPort();
        }
    }

    @Test
    void ranksMeetAtMasterAddrAndMasterPort() throws IOException {
        launched(3)
                .environment("MASTER_ADDR", "localhost")
                .environment("MASTER_PORT", freePort())
                .run(Sum.class)
                .assertAllSucceeded();
    }

    @Test
    void ranksMeetAtNcclCommId() throws IOException {
        launched(2)
                .environment("NCCL_COMM_ID", "127.0.0.1:" + freePort())
                .environment("MASTER_ADDR", "198.51.100.1")
                .run(Sum.class)
                .assertAllSucceeded();
    }

    @Test
    void aJobOfOneRankNeedsNoAddress() {
        launched(1).run(Sum.class).assertAllSucceeded();
    }

    /** The device of a rank is that of its number on its machine. */
    public static final class OnDevice implements Scenario {
        @Override
        public void run(Rank rank) {
            try (Communicator comm = Communicator.fromEnvironment()) {
                assertEquals(1 - rank.number(), comm.device());
                Sums.allReduce(comm, 100);
            }
        }
    }

    @Test
    void theLocalRankIsTheNumberOfTheDevice() throws IOException {
        launched(2)
                .onDevices()
                .environment("MASTER_ADDR", "127.0.0.1")
                .environment("MASTER_PORT", freePort())
                .environment(0, "LOCAL_RANK", "1")
                .environment(1, "LOCAL_RANK", "0")
                .run(OnDevice.class)
                .assertAllSucceeded();
    }

    /** Expects the kind of its first argument, and the word of its second in the sentence. */
    public static final class Refused implements Scenario {
        @Override
        public void run(Rank rank) {
            NcclException refused =
                    assertThrows(NcclException.class, Communicator::fromEnvironment);
            assertEquals(ErrorKind.valueOf(rank.argument(0)), refused.kind());
            String sentence = refused.getMessage();
            assertTrue(sentence.contains(rank.argument(1)), sentence);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "'', VARIABLE_MISSING, WORLD_SIZE is not set",
        "'WORLD_SIZE=2', VARIABLE_MISSING, RANK is not set",
        "'WORLD_SIZE=two RANK=0', VARIABLE_UNFIT, WORLD_SIZE is 'two'",
        "'WORLD_SIZE=2 RANK=-1', VARIABLE_UNFIT, RANK is '-1'",
        "'WORLD_SIZE=2 RANK=2', VARIABLE_UNFIT, RANK is 2 and WORLD_SIZE 2",
        "'WORLD_SIZE=0 RANK=0', VARIABLE_UNFIT, WORLD_SIZE 0",
        "'WORLD_SIZE=2 RANK=0 LOCAL_RANK=x', VARIABLE_UNFIT, LOCAL_RANK is 'x'",
        "'WORLD_SIZE=2 RANK=0', VARIABLE_MISSING, MASTER_ADDR is not set",
        "'WORLD_SIZE=2 RANK=0 MASTER_ADDR=localhost', VARIABLE_MISSING, MASTER_PORT is not set",
        "'WORLD_SIZE=2 RANK=0 MASTER_ADDR=localhost MASTER_PORT=x', VARIABLE_UNFIT, MASTER_PORT",
        "'WORLD_SIZE=2 RANK=0 MASTER_ADDR=0.0.0.0 MASTER_PORT=9', VARIABLE_UNFIT, no single",
        "'WORLD_SIZE=2 RANK=0 MASTER_ADDR=198.51.100.1 MASTER_PORT=9', SECRET_MISSING, JCCL_SECRET",
        "'WORLD_SIZE=2 RANK=0 JCCL_STORE=jccl-none', STORE_FAILED, jccl-none",
        "'WORLD_SIZE=2 RANK=0"
            + " JCCL_STORE=jccl-none-of-a-name-that-is-longer-than-any-socket-may-have-which-are-one-hundred-and-seven-characters-at-most',"
            + " STORE_FAILED, Invalid",
        "'WORLD_SIZE=2 RANK=0 MASTER_ADDR=localhost MASTER_PORT=1"
                + " TORCHELASTIC_USE_AGENT_STORE=True', STORE_FAILED, refused"
    })
    void aVariableThatIsMissingOrWrongIsNamed(String variables, String kind, String words) {
        Cluster cluster = Cluster.processes(1).environment("JCCL_INIT_TIMEOUT", "5");
        for (String each : variables.split(" ")) {
            if (!each.isEmpty()) {
                cluster = cluster.environment(each.split("=")[0], each.split("=")[1]);
            }
        }
        cluster.run(Refused.class, kind, words).assertAllSucceeded();
    }

    @Test
    void aStoreThatNeverAnswersIsGivenUp() throws IOException {
        try (ServerSocket silent = new ServerSocket(0)) {
            launched(2)
                    .environment("JCCL_INIT_TIMEOUT", "1")
                    .environment("MASTER_ADDR", "127.0.0.1")
                    .environment("MASTER_PORT", "" + silent.getLocalPort())
                    .environment("TORCHELASTIC_USE_AGENT_STORE", "True")
                    .environment(0, "RANK", "1")
                    .run(Refused.class, "STORE_SILENT", "JCCL_INIT_TIMEOUT")
                    .assertAllSucceeded();
        }
    }
}
