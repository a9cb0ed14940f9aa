/* What kernels are told. The host's compiler takes this file, too. */
#pragma once

#include <cstddef>
#include <cstdint>

namespace jccl {

constexpr uint32_t MOST_RANKS = 8;

/* Of sends and receives: to and from each other rank, long messages with it, and the copies. */
constexpr uint32_t MOST_CHANNELS = 3 * (MOST_RANKS - 1) + 1;
constexpr uint32_t MOST_TRANSFERS = 224;

/* For a collective, as org.jccl.cuda.LaunchArguments writes it. */
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
    /* If ranks relay parts, the bytes of all parts together; the last parts may be shorter. */
    uint64_t all;
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
    /* The rank that has no part, since the others relay theirs; not less than `ranks` if none do. */
    uint32_t rootless;
    /* Sets of ranks: for whom this rank relays its part, and who relays parts for it. */
    uint32_t relays;
    uint32_t relayed;
};

struct Transfer {
    uint64_t address;
    uint64_t bytes;
};

enum Kind : uint16_t { SENDS, RECEIVES, COPIES, LONG };

/*
 * Messages of one channel, in their order; of long ones those that are sent come first. A copy's
 * are two transfers, from and to.
 */
struct Channel {
    uint16_t peer;
    Kind kind;
    /* Its warps in the kernel. */
    uint16_t first_warp;
    uint16_t warps;
    uint16_t first_transfer;
    uint16_t transfers;
    /* How many of the transfers of a long channel are received. */
    uint16_t receives;
    uint16_t unused;
};

/* As org.jccl.cuda.TransferArguments writes it. */
struct Transfers {
    uint64_t memory[MOST_RANKS];
    /* Words of the host: not 0 if the kernel is to stop; set when it starts and when it is done. */
    uint64_t stop;
    uint64_t started;
    uint64_t done;
    uint64_t use;
    uint32_t rank;
    /* Lanes of a channel, and of a long one. */
    uint32_t lanes;
    uint32_t long_lanes;
    uint32_t channels;
    uint32_t ranks;
    /* Over how many lanes a short message is spread, so that each has few of its lines. */
    uint32_t spread;
    Channel channel[MOST_CHANNELS];
    Transfer transfer[MOST_TRANSFERS];
};

static_assert(offsetof(Arguments, relayed) == 180 && sizeof(Arguments) == 184);
static_assert(offsetof(Transfers, spread) == 116 && offsetof(Transfers, channel) == 120);
static_assert(offsetof(Transfers, transfer) == 472);

__device__ inline bool has(uint32_t set, uint32_t rank) {
    return (set >> rank & 1) != 0;
}

}  // namespace jccl
