package org.jccl.suite;

import org.jccl.harness.Cluster;

import java.util.List;

/** A rank with itself. */
final class SelfTransportTest extends TransportContract {
    @Override
    List<Cluster> clusters() {
        return List.of(Cluster.threads(1), Cluster.processes(1));
    }

    @Override
    boolean crossesSharedMemory() {
        return false;
    }

    @Override
    boolean crossesNet() {
        return false;
    }
}
