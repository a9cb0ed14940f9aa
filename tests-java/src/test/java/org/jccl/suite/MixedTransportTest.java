package org.jccl.suite;

import org.jccl.harness.Cluster;

import java.util.List;

/** Nodes of several ranks. */
final class MixedTransportTest extends TransportContract {
    @Override
    List<Cluster> clusters() {
        return List.of(
                Cluster.threads(4).nodes(2), Cluster.processes(4).ranksPerProcess(2).nodes(2));
    }

    @Override
    boolean crossesSharedMemory() {
        return true;
    }

    @Override
    boolean crossesNet() {
        return true;
    }
}
