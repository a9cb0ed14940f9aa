package org.jccl.log;

/** NCCL's levels in the order in which NCCL_DEBUG adds them; NONE logs nothing. */
enum Level implements LogSettings.Bit {
    NONE(0),
    VERSION(1),
    WARN(2),
    ATTN(4),
    INFO(8),
    ABORT(16),
    TRACE(32);

    private final int bit;

    Level(int bit) {
        this.bit = bit;
    }

    @Override
    public int bit() {
        return bit;
    }
}
