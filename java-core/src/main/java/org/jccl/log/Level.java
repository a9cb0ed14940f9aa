package org.jccl.log;

/** NCCL's levels in the order in which NCCL_DEBUG adds them. */
enum Level {
    VERSION,
    WARN,
    ATTN,
    INFO,
    ABORT,
    TRACE
}
