package org.jccl.harness;

/** What every rank of a {@link Cluster} does; one object per rank. */
@FunctionalInterface
public interface Scenario {
    /**
     * Runs one rank. Returning is success; whatever is thrown is reported with its stack.
     *
     * @throws Exception to fail this rank
     */
    void run(Rank rank) throws Exception;
}
