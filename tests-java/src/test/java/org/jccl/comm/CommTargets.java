package org.jccl.comm;

import org.jccl.bootstrap.Exchange;
import org.jccl.fuzz.FuzzTarget;
import org.jccl.platform.Cores;
import org.jccl.platform.SocketAddress;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;

import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The messages between ranks at init and split. */
public final class CommTargets {
    private static final RankInfo OWN =
            info("node1", 4711, SocketAddress.parse("10.0.0.1:4000"), "a=1\nb=2");

    private CommTargets() {}

    /** All targets of this package. */
    public static List<FuzzTarget> all() {
        return List.of(rankInfo(), rounds());
    }

    private static RankInfo info(String host, int pid, SocketAddress where, String settings) {
        return new RankInfo(
                host,
                pid,
                99,
                7,
                where,
                BitSet.valueOf(new long[] {3}),
                2,
                true,
                false,
                "",
                settings);
    }

    private static FuzzTarget rankInfo() {
        SocketAddress six = SocketAddress.parse("[fe80::1%2]:4000");
        return new FuzzTarget(
                "rank-info",
                4,
                List.of(OWN.encode(), info("node2", 1, six, "a=1\nc\u0001\n").encode()),
                input -> {
                    RankInfo read = RankInfo.decode(3, input, 0);
                    require(read.pid() > 0, "process " + read.pid());
                    BitSet cores = read.cores();
                    require(!cores.isEmpty() && cores.length() <= Cores.MOST, "cores " + cores);
                    require(read.quota() > 0, "quota " + read.quota());
                    require(read.listener().port() > 0, "no port");
                    String difference = RankInfo.difference(0, OWN, 3, read);
                    boolean near = read.mayShare(OWN);
                    if (difference == null) {
                        return near ? "a node mate" : "a rank elsewhere";
                    }
                    throw ErrorKind.RANKS_DISAGREE.says("they disagree: " + difference);
                },
                Set.of("a node mate", "a rank elsewhere"),
                Map.of(
                        "badly described", "rank 3 described itself badly",
                        "other settings", "they disagree: "));
    }

    private static FuzzTarget rounds() {
        return new FuzzTarget(
                "round",
                1,
                List.of(
                        new byte[] {0},
                        new byte[] {0, 1, 2},
                        new byte[] {1, (byte) NcclResult.SYSTEM_ERROR.code(), 'n', 'o'}),
                input -> {
                    Rounds rounds = new Rounds(new Answer(input));
                    rounds.begin(new byte[0]);
                    require(rounds.advance(), "it waits");
                    NcclException failure = rounds.failure(0);
                    if (failure == null) {
                        require(rounds.payload(0).length == input.length - 1, "another length");
                        return "payload";
                    }
                    boolean unreadable =
                            String.valueOf(failure.getMessage()).contains("unreadable message");
                    throw unreadable
                            ? failure
                            : ErrorKind.PEER_GAVE_UP.says(
                                    failure.result(), "gave up: " + failure.getMessage());
                },
                Set.of("payload"),
                Map.of("unreadable", "unreadable message", "failure", "gave up: "));
    }

    private static void require(boolean condition, String otherwise) {
        if (!condition) {
            throw new AssertionError(otherwise);
        }
    }

    /** An exchange in which rank 0 says this. */
    private static final class Answer implements Exchange {
        private final byte[] blob;

        Answer(byte[] blob) {
            this.blob = blob;
        }

        @Override
        public void begin(byte[] mine) {}

        @Override
        public boolean advance() {
            return true;
        }

        @Override
        public byte[][] result() {
            return new byte[][] {blob};
        }

        @Override
        public int[] missing() {
            return new int[0];
        }

        @Override
        public void awaitActivity(int maxMs) {}

        @Override
        public void close() {}
    }
}
