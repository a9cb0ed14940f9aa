package org.jccl.suite;

import static org.jccl.type.NcclResult.INVALID_ARGUMENT;
import static org.jccl.type.NcclResult.INVALID_USAGE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import org.jccl.Communicator;
import org.jccl.bootstrap.Listener;
import org.jccl.harness.Cluster;
import org.jccl.harness.Outcome;
import org.jccl.harness.Rank;
import org.jccl.harness.RankResult;
import org.jccl.harness.RunningCluster;
import org.jccl.harness.Scenario;
import org.jccl.log.LastError;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.UniqueId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import java.net.BindException;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.concurrent.ThreadLocalRandom;

/** Ranks that find each other by NCCL_COMM_ID, and the ports they listen on. */
final class KnownRootTest {
    private static final String SECRET = "0123456789abcdef0123456789abcdef";

    /** Communicator after communicator, with ids that the ranks have not shared. */
    public static final class Successive implements Scenario {
        @Override
        public void run(Rank rank) {
            String before = "";
            for (int i = 0; i < 6; i++) {
                Communicator comm =
                        Communicator.initRank(
                                rank.nRanks(), someId((i + rank.number()) % 3), rank.number());
                assertNotEquals(before, comm.toString());
                before = comm.toString();
                Sums.allReduce(comm, 10_000);
                Communicator child = comm.split(0, -rank.number());
                assertNotNull(child);
                assertEquals(rank.nRanks() - 1 - rank.number(), child.rank());
                Sums.allReduce(child, 100);
                child.close();
                if (i % 2 == 0) {
                    comm.close();
                }
            }
            Communicator alone = Communicator.initRank(1, someId(1), 0);
            Sums.allReduce(alone, 1);
            alone.close();
        }

        private static UniqueId someId(int which) {
            byte[] bytes = new byte[UniqueId.BYTES];
            Arrays.fill(bytes, (byte) which);
            return which == 0 ? Communicator.uniqueId() : new UniqueId(bytes);
        }
    }

    /** Rank 0 comes only when the test lets it in. */
    public static final class LateRoot implements Scenario {
        @Override
        public void run(Rank rank) throws Exception {
            if (rank.number() == 0) {
                rank.await("go");
            }
            Communicator comm =
                    Communicator.initRank(
                            rank.nRanks(),
                            new UniqueId(new byte[UniqueId.BYTES]),
                            rank.number(),
                            InitTest.NON_BLOCKING);
            while (rank.number() != 0 && !LastError.get().contains("has waited")) {
                assertEquals(NcclResult.IN_PROGRESS, comm.asyncError());
                Thread.sleep(10);
            }
            rank.say(LastError.get());
            rank.say("said who is late");
            comm.awaitReady(InitTest.SOON);
            comm.close();
        }
    }

    /** All but rank 0 join. */
    public static final class NoRoot implements Scenario {
        @Override
        public void run(Rank rank) {
            if (rank.number() != 0) {
                new Once().run(rank);
            }
        }
    }

    /** One communicator of all. */
    public static final class Once implements Scenario {
        @Override
        public void run(Rank rank) {
            Communicator comm =
                    Communicator.initRank(
                            rank.nRanks(), new UniqueId(new byte[UniqueId.BYTES]), rank.number());
            Sums.allReduce(comm, 1000);
            comm.close();
        }
    }

    /** The answers of ncclGetUniqueId to values of the variables. */
    public static final class Refusals implements Scenario {
        private static final String[] ALL = {"NCCL_COMM_ID", "JCCL_SECRET", "JCCL_SECRET_FILE"};

        @Override
        public void run(Rank rank) throws Exception {
            String readable = rank.argument(0);
            String far = "192.0.2.1:4000";
            set(far);
            expect(INVALID_USAGE, far, "set JCCL_SECRET, or JCCL_SECRET_FILE", "openssl");
            set(far, "short");
            expect(INVALID_USAGE, "JCCL_SECRET has 5 bytes", "16");
            set(far, SECRET, "x");
            expect(INVALID_USAGE, "JCCL_SECRET and JCCL_SECRET_FILE are both set");
            set(far, "", readable);
            expect(INVALID_USAGE, "JCCL_SECRET_FILE: ", "chmod 600");
            set(far, "", readable + ".none");
            expect(INVALID_USAGE, "JCCL_SECRET_FILE: ", "No such file");
            for (String wrong : new String[] {"here", "127.0.0.1:0", "0.0.0.0:4000"}) {
                set(wrong, SECRET);
                expect(INVALID_ARGUMENT, "NCCL_COMM_ID: ", "host:4000");
            }
            set(far, SECRET);
            UniqueId id = Communicator.uniqueId();
            assertEquals(id, Communicator.uniqueId());
            String content = new String(id.toBytes(), StandardCharsets.ISO_8859_1);
            Sums.require(!content.contains(SECRET.substring(0, 8)), "the id holds the secret");
            set("127.0.0.1:4000");
            assertNotEquals(id, Communicator.uniqueId());
        }

        private static void expect(NcclResult result, String... parts) {
            NcclException refused = assertThrows(NcclException.class, Communicator::uniqueId);
            assertEquals(result, refused.result(), refused.getMessage());
            for (String part : parts) {
                Sums.require(refused.getMessage().contains(part), refused.getMessage());
            }
        }

        @SuppressWarnings("restricted")
        private static void set(String... values) throws Exception {
            Linker linker = Linker.nativeLinker();
            MethodHandle setenv =
                    linker.downcallHandle(
                            linker.defaultLookup().find("setenv").orElseThrow(),
                            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_INT));
            try (Arena arena = Arena.ofConfined()) {
                for (int i = 0; i < ALL.length; i++) {
                    String value = i < values.length ? values[i] : "";
                    assertEquals(
                            0,
                            (int)
                                    setenv.invokeExact(
                                            arena.allocateFrom(ALL[i]),
                                            arena.allocateFrom(value),
                                            1));
                }
            } catch (Throwable thrown) {
                throw new AssertionError(thrown);
            }
        }
    }

    /** Communicators whose ranks say where they listen. */
    public static final class SaysItsPort implements Scenario {
        @Override
        public void run(Rank rank) {
            try {
                rank.say(Integer.toString(Listener.address().port()));
            } finally {
                rank.post("up " + rank.number(), "");
            }
            for (int q = 0; q < rank.nRanks(); q++) {
                rank.await("up " + q);
            }
        }
    }

    @Test
    void ranksMeetThereAgainAndAgainWhateverIdsTheyHold() throws Exception {
        Outcome outcome =
                Cluster.processes(3)
                        .once()
                        .environment("NCCL_COMM_ID", "localhost:" + freePort())
                        .environment("NCCL_DEBUG", "WARN")
                        .run(Successive.class)
                        .assertAllSucceeded();
        // One warning for each process.
        assertEquals(3, outcome.output().split("without JCCL_SECRET or", -1).length - 1);
    }

    @Test
    void nodesMeetThereWithASecret(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("secret");
        Files.writeString(file, SECRET + "\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        Cluster.namespaces(2)
                .environment("NCCL_COMM_ID", "10.77.0.1:" + freePort())
                .environment(0, "JCCL_SECRET", SECRET)
                .environment(1, "JCCL_SECRET_FILE", file.toString())
                .run(Successive.class)
                .assertAllSucceeded();
    }

    @Test
    void lateRankZeroIsNamedAndWaitedFor() throws Exception {
        String address = "127.0.0.1:" + freePort();
        Cluster cluster =
                Cluster.processes(2)
                        .environment("NCCL_COMM_ID", address)
                        .environment("JCCL_LATE_WARN", "0.5");
        try (RunningCluster running = cluster.start(LateRoot.class)) {
            running.awaitSaid(1, "said who is late");
            running.post("go", "");
            Outcome outcome = running.await().assertAllSucceeded();
            String said = outcome.rank(1).said().getFirst();
            Sums.require(
                    said.contains(
                            "in ncclCommInitRank for rank 0 of 2 ranks (connecting to " + address),
                    said);
        }
    }

    @Test
    void rankZeroThatNeverComesIsNamed() throws Exception {
        String address = "127.0.0.1:" + freePort();
        Outcome outcome =
                Cluster.processes(2)
                        .environment("NCCL_COMM_ID", address)
                        .environment("JCCL_INIT_TIMEOUT", "1")
                        .run(NoRoot.class);
        outcome.rank(1)
                .assertFailed(NcclResult.TIMEOUT, "for rank 0 of 2 ranks", address, "refused");
    }

    @Test
    void whatCannotBeUsedIsRefusedByASentence(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("secret");
        Files.writeString(file, SECRET);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
        Cluster.processes(1).once().run(Refusals.class, file).assertAllSucceeded();
    }

    @Test
    void processesListenInTheRangeAndSayWhenItIsFull() throws Exception {
        int first = freePorts(2);
        String range = first + "-" + (first + 1);
        Cluster cluster = Cluster.processes(3).once().environment("JCCL_PORT_RANGE", range);
        Outcome outcome = cluster.deadline(300).run(SaysItsPort.class);
        int listening = 0;
        for (RankResult rank : outcome.ranks()) {
            if (rank.said().isEmpty()) {
                rank.assertFailed(
                        NcclResult.SYSTEM_ERROR, "all ports of JCCL_PORT_RANGE " + range, "widen");
            } else {
                int port = Integer.parseInt(rank.said().getFirst());
                Sums.require(port == first || port == first + 1, outcome.toString());
                listening++;
            }
        }
        assertEquals(2, listening, outcome::toString);
    }

    @Test
    void allThatRanksConnectToLiesInTheRange() throws Exception {
        int first = freePorts(2);
        Cluster.processes(2)
                .once()
                .environment("NCCL_SHM_DISABLE", "1")
                .environment("JCCL_PORT_RANGE", first + "-" + (first + 1))
                .run(AllInRange.class, first)
                .assertAllSucceeded();
    }

    /** A communicator over TCP, whose listening sockets are looked for in the system's table. */
    public static final class AllInRange implements Scenario {
        @Override
        public void run(Rank rank) throws Exception {
            Communicator comm = rank.init();
            Sums.allReduce(comm, 100_000);
            int first = rank.intArgument(0);
            int mine = Listener.address().port();
            Sums.require(mine == first || mine == first + 1, mine + " is not in the range");
            assertEquals(1, listening(), "sockets that listen");
            comm.close();
        }

        private static int listening() throws IOException {
            int count = 0;
            for (String table : new String[] {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
                for (String line : Files.readAllLines(Path.of(table))) {
                    String[] fields = line.trim().split("\\s+");
                    // State 0A listens; the tenth field is the socket's inode.
                    if (fields.length > 9 && fields[3].equals("0A") && isOurs(fields[9])) {
                        count++;
                    }
                }
            }
            return count;
        }

        private static boolean isOurs(String inode) throws IOException {
            try (var descriptors = Files.list(Path.of("/proc/self/fd"))) {
                return descriptors.anyMatch(each -> leadsTo(each, "socket:[" + inode + "]"));
            }
        }

        private static boolean leadsTo(Path descriptor, String target) {
            try {
                return Files.readSymbolicLink(descriptor).toString().equals(target);
            } catch (IOException closed) {
                return false;
            }
        }
    }

    private static int freePort() throws IOException {
        return freePorts(1);
    }

    /** The first of n ports that are free and that the system does not give out by itself. */
    private static int freePorts(int n) throws IOException {
        for (int attempt = 0; attempt < 100; attempt++) {
            int first = ThreadLocalRandom.current().nextInt(10_000, 30_000);
            if (areFree(first, n)) {
                return first;
            }
        }
        throw new IOException("no " + n + " ports are free");
    }

    private static boolean areFree(int first, int n) throws IOException {
        for (int port = first; port < first + n; port++) {
            try (ServerSocket held = new ServerSocket(port)) {
                assertEquals(port, held.getLocalPort());
            } catch (BindException taken) {
                return false;
            }
        }
        return true;
    }
}
