/* What a collective's kernel is told. */
#pragma once

#include <cstdint>

#include "lines.cuh"

namespace jccl {

/* As org.jccl.cuda.LaunchArguments writes it. */
struct Arguments {
    /* Where this rank reaches each rank's memory for such kernels. */
    uint64_t memory[MOST_RANKS];
    uint64_t in;
    uint64_t out;
    /* Bytes of a part. */
    uint64_t bytes;
    /* From one rank's part of the input, or of the output, to the next one's; 0 for one part. */
    uint64_t in_stride;
    uint64_t out_stride;
    /* Words of the host: not 0 if the kernel is to stop; set when it starts and when it is done. */
    uint64_t stop;
    uint64_t started;
    uint64_t done;
    uint64_t use;
    uint32_t rank;
    uint32_t ranks;
    /* Sets of ranks: to whom this rank sends, and whose parts it takes, its own included. */
    uint32_t readers;
    uint32_t sources;
    /* Whether a rank may get nothing from another one. */
    uint32_t rooted;
    /* What the result is divided by, if not 0. */
    uint32_t divisor;
    uint32_t slot_lines;
};

__device__ inline bool has(uint32_t set, uint32_t rank) {
    return (set >> rank & 1) != 0;
}

}  // namespace jccl
