package org.jccl.log;

/** NCCL's subsystems in NCCL's order. */
public enum Subsystem implements LogSettings.Bit {
    INIT,
    COLL,
    P2P,
    SHM,
    NET,
    GRAPH,
    TUNING,
    ENV,
    ALLOC,
    CALL,
    PROXY,
    NVLS,
    BOOTSTRAP,
    REG,
    PROFILE,
    RAS,
    DESTROY,
    ALLOC_HOST
}
