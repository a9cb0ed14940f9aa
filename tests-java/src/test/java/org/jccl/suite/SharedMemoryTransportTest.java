package org.jccl.suite;

import org.jccl.harness.Cluster;

import java.util.List;

/** Ranks of one node. */
final class SharedMemoryTransportTest extends TransportContract {
    @Override
    List<Cluster> clusters() {
        return List.of(
                Cluster.threads(3), Cluster.processes(3), Cluster.processes(4).ranksPerProcess(2));
    }

    @Override
    boolean crossesSharedMemory() {
        return true;
    }

    @Override
    boolean crossesNet() {
        return false;
    }
}
