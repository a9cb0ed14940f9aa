package org.jccl.log;

/** NCCL's subsystems with NCCL's bits. */
public enum Subsystem implements LogSettings.Bit {
    INIT(0x1),
    COLL(0x2),
    P2P(0x4),
    SHM(0x8),
    NET(0x10),
    GRAPH(0x20),
    TUNING(0x40),
    ENV(0x80),
    ALLOC(0x100),
    CALL(0x200),
    PROXY(0x400),
    NVLS(0x800),
    BOOTSTRAP(0x1000),
    REG(0x2000),
    PROFILE(0x4000),
    RAS(0x8000),
    DESTROY(0x10000),
    ALLOC_HOST(0x20000);

    private final int bit;

    Subsystem(int bit) {
        this.bit = bit;
    }

    @Override
    public int bit() {
        return bit;
    }
}
