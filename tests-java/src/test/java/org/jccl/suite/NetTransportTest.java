package org.jccl.suite;

import org.jccl.harness.Cluster;

import java.util.List;

/** Ranks that share no memory. */
final class NetTransportTest extends TransportContract {
    @Override
    List<Cluster> clusters() {
        return List.of(
                Cluster.threads(3).nodes(3),
                Cluster.processes(3).environment("NCCL_SHM_DISABLE", "1"),
                Cluster.namespaces(2));
    }

    @Override
    boolean crossesSharedMemory() {
        return false;
    }

    @Override
    boolean crossesNet() {
        return true;
    }
}
