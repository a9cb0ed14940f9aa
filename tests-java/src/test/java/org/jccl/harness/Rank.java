package org.jccl.harness;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.type.UniqueId;
import org.jspecify.annotations.Nullable;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.Consumer;

/** A {@link Scenario}'s view of its own rank. Any thread of the rank may use it. */
public final class Rank {
    private final int number;
    private final int nRanks;
    private final List<String> arguments;
    private final Board board;
    private final Consumer<String> said;
    private final @Nullable String hostId;

    Rank(
            int number,
            int nRanks,
            int nNodes,
            List<String> arguments,
            Board board,
            Consumer<String> said) {
        this.number = number;
        this.nRanks = nRanks;
        this.hostId = nNodes > 1 ? Cluster.nodeOf(number, nRanks, nNodes) : null;
        this.arguments = arguments;
        this.board = board;
        this.said = said;
    }

    /** This rank's number, from 0. */
    public int number() {
        return number;
    }

    /** How many ranks the cluster has. */
    public int nRanks() {
        return nRanks;
    }

    /** An argument of the scenario. */
    public String argument(int index) {
        return arguments.get(index);
    }

    /** An argument of the scenario as a number. */
    public int intArgument(int index) {
        return Integer.parseInt(arguments.get(index));
    }

    /** The arguments of the scenario. */
    public List<String> arguments() {
        return arguments;
    }

    /** The unique id called {@code name}: rank 0 makes it, the others wait for it. */
    public UniqueId uniqueId(String name) {
        return board.uniqueId(name, number == 0);
    }

    /** A blocking communicator of all ranks. */
    public Communicator init() {
        return init(Config.DEFAULT);
    }

    /** A communicator of all ranks with this configuration. */
    public Communicator init(Config config) {
        return init("world", config);
    }

    /** Another communicator of all ranks, by an id of this name. */
    public Communicator init(String name, Config config) {
        Config placed = hostId == null ? config : config.withHostId(hostId);
        return Communicator.initRank(nRanks, uniqueId(name), number, placed);
    }

    /** The node of this rank if ranks of one process are to lie on several, else null. */
    public @Nullable String hostId() {
        return hostId;
    }

    /** Tells the test something, at once; see {@link RunningCluster#awaitSaid}. */
    public void say(String text) {
        said.accept(text);
    }

    /** Puts a note where every rank can read it. */
    public void post(String name, String text) {
        board.post(name, text.getBytes(StandardCharsets.UTF_8));
    }

    /** Waits until a rank, or the test, has put this note; the cluster's deadline is the limit. */
    public String await(String name) {
        return new String(board.await(name), StandardCharsets.UTF_8);
    }
}
