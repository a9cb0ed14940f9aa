package org.jccl.harness;

/** The work of every rank of a {@link Cluster}; one object per rank. */
@FunctionalInterface
public interface Scenario {
    /**
     * Runs one rank. Returning is success; whatever is thrown is reported with its stack.
     *
     * @throws Exception to fail this rank
     */
    void run(Rank rank) throws Exception;
}
