package org.jccl.type;

/** How elements of all ranks become one: a predefined operation, or one of a communicator. */
public sealed interface Reduction permits RedOp, PreMulSum {
    /** The value of {@code ncclRedOp_t}. */
    int number();
}
