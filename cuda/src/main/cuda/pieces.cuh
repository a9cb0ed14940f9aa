/*
 * Bytes that threads move together, in pieces through rings in the receivers' memory, and counts of
 * pieces that ranks tell each other.
 */
#pragma once

#include <cstdint>

#include "lines.cuh"

namespace jccl {

/* What a thread moves in one instruction. */
constexpr uint32_t WORDS_BYTES = 16;

/* A lane is a block of so many threads. */
constexpr uint32_t LANE_THREADS = 128;

/* How many pieces a ring holds. */
constexpr uint32_t RING_PIECES = 3;
constexpr uint32_t PIECE_UNIT = LANE_THREADS * WORDS_BYTES;

/* What each thread moves four times 16 bytes of; what is left of a piece takes as long as that. */
constexpr uint32_t GOOD_PIECE_UNIT = 4 * PIECE_UNIT;
constexpr uint32_t MOST_PIECE = 64 << 10;

/*
 * Between the places of two pieces. Lanes come to like places of their rings at about the same
 * time; where these are a power of two apart, large parts take 1 to 2 % longer, probably since they
 * share channels of the memory.
 */
constexpr uint32_t GAP = 1 << 10;

/* How much room for a piece there is where a rank has so many rings in so many bytes. */
__device__ inline uint32_t room_of(uint64_t bytes, uint32_t rings) {
    uint32_t room = uint32_t(min(bytes / (RING_PIECES * rings) - GAP, uint64_t(MOST_PIECE)));
    uint32_t unit = room < GOOD_PIECE_UNIT ? PIECE_UNIT : GOOD_PIECE_UNIT;
    return room / unit * unit;
}

/*
 * How long the pieces of a lane's share are. The count after a piece waits for it to arrive, and
 * makes the wire wait, so those of a long share are longer; the last one is taken when nothing else
 * is under way, so those of a short one are not.
 */
__device__ inline uint32_t piece_of(uint64_t share, uint32_t room) {
    return min(share >= 2 << 20 ? MOST_PIECE : MOST_PIECE / 2, room);
}

/*
 * How long a piece is where ranks relay a lane's share: while the first pieces come and the last
 * ones go some ways are idle, so there are several pieces, if the share is not too short.
 */
__device__ inline uint32_t relayed_piece(uint64_t share, uint32_t most) {
    constexpr uint64_t PIECES = 4;
    uint64_t wanted = (share / PIECES + PIECE_UNIT - 1) / PIECE_UNIT * PIECE_UNIT;
    return uint32_t(min(max(wanted, uint64_t(PIECE_UNIT)), uint64_t(most)));
}

/* How many of so many bytes each lane moves, but those behind the end. */
__device__ inline uint64_t share_of(uint64_t bytes, uint32_t lanes) {
    return ((bytes + lanes - 1) / lanes + PIECE_UNIT - 1) / PIECE_UNIT * PIECE_UNIT;
}

/*
 * Copies 16 bytes from `at` on, and each `step`, N times at once while there are so many, then less
 * at once. Returns where there are no 16 bytes any more.
 */
template <uint32_t N>
__device__ inline uint64_t copy_whole(uint64_t to, uint64_t from, uint64_t at, uint64_t bytes,
                                      uint64_t step) {
    for (; at + (N - 1) * step + WORDS_BYTES <= bytes; at += N * step) {
        Words words[N];
#pragma unroll
        for (uint32_t k = 0; k < N; k++) {
            words[k] = load_whole(from + at + k * step);
        }
#pragma unroll
        for (uint32_t k = 0; k < N; k++) {
            store_whole(to + at + k * step, words[k]);
        }
    }
    if constexpr (N > 1) {
        return copy_whole<N / 2>(to, from, at, bytes, step);
    }
    return at;
}

/* So many threads copy bytes together, each N times 16 at a time; `thread` is this one's number. */
template <uint32_t N>
__device__ inline void copy(uint64_t to, uint64_t from, uint64_t bytes, uint32_t thread,
                            uint32_t threads) {
    uint64_t at = thread * WORDS_BYTES;
    uint64_t step = threads * WORDS_BYTES;
    if ((to | from) % WORDS_BYTES == 0) {
        at = copy_whole<N>(to, from, at, bytes, step);
    }
    for (; at < bytes; at += step) {
        int64_t left = int64_t(bytes - at);
        store_words(to + at, left, load_words(from + at, left));
    }
}

/*
 * Waits until a count of another rank has come so far, and what that rank has done before can be
 * seen; false if the host says stop.
 */
__device__ inline bool await_count(uint64_t address, uint64_t wanted, uint64_t stop) {
    for (uint32_t polls = 1; load_acquire(address) < wanted; polls++) {
        if (polls % POLLS == 0 && load(stop) != 0) {
            return false;
        }
    }
    return true;
}

}  // namespace jccl
