/*
 * Collectives of large parts between GPUs that reach each other's memory. The lanes of a kernel, a
 * block of threads each, share a part and need nothing of each other. A lane cuts its share into
 * pieces of plain bytes. It writes a piece into a ring that it has in the memory of each reader,
 * and tells the reader how many it has put there; then it takes the piece before from all sources,
 * which it copies or folds in the order of the ranks, and tells the sources how many it has taken.
 * Cost for n ranks and parts of s bytes: two trips, and at most (n - 1) s bytes that a rank sends.
 *
 * A rank's input is read up to a piece before its output is written so far, so they may be the
 * same.
 */
#include <cstdint>

#include "arguments.cuh"
#include "folds.cuh"
#include "lines.cuh"
#include "pieces.cuh"

namespace jccl {

constexpr uint32_t MOST_LANES = 256;

/* How many times 16 bytes a thread has under way if it copies. */
constexpr uint32_t COPIES_AT_ONCE = 8;

/*
 * A rank's memory: by lane and reader how many pieces that one has taken, which it writes; by lane
 * and source how many that one has put; the rank's own state, by lane and rank how many it has sent
 * to and received from that one; how many blocks of the present kernel are done; the rings, by lane
 * and source.
 */
constexpr uint64_t TAKEN = 0;
constexpr uint64_t PUT = TAKEN + 16 * MOST_LANES * MOST_RANKS;
constexpr uint64_t STATE = PUT + 16 * MOST_LANES * MOST_RANKS;
constexpr uint64_t BLOCKS_DONE = STATE + 16 * MOST_LANES * MOST_RANKS;
constexpr uint64_t RINGS = BLOCKS_DONE + 128;

struct Lane {
    const Arguments& a;
    /* By rank, how many pieces kernels before have sent to it and received from it. */
    const uint64_t* sent;
    const uint64_t* received;
    uint32_t piece_bytes;
    /* The lane's share of a part. */
    uint64_t begin;
    uint64_t end;

    __device__ Lane(const Arguments& arguments, const uint64_t* sent, const uint64_t* received)
        : a(arguments), sent(sent), received(received) {
        piece_bytes = piece_of(gridDim.x * (a.ranks - 1));
        uint64_t share = share_of(a.bytes, gridDim.x);
        begin = min(a.bytes, share * blockIdx.x);
        end = min(a.bytes, begin + share);
    }

    __device__ static uint64_t word(const Arguments& a, uint32_t owner, uint64_t of,
                                    uint32_t other) {
        return a.memory[owner] + of + 16 * (blockIdx.x * MOST_RANKS + other);
    }

    /* Where a piece from a source is in a rank's memory. */
    __device__ uint64_t ring(uint32_t owner, uint32_t source, uint64_t number) const {
        uint32_t index = source - (source > owner ? 1 : 0);
        uint64_t rings = blockIdx.x * (a.ranks - 1) + index;
        uint64_t place = rings * RING_PIECES + number % RING_PIECES;
        return a.memory[owner] + RINGS + place * piece_bytes;
    }

    __device__ uint64_t pieces() const {
        return (end - begin + piece_bytes - 1) / piece_bytes;
    }

    /* Where the i-th piece is in a part, and how long it is. */
    __device__ uint64_t offset(uint64_t i) const {
        return begin + i * piece_bytes;
    }
    __device__ uint32_t length(uint64_t i) const {
        return uint32_t(min(end - offset(i), uint64_t(piece_bytes)));
    }

    /*
     * Sends the i-th piece to all readers; all threads of the block call it together. The counts
     * follow when all has been stored, so that they wait together for it to arrive.
     */
    __device__ bool send(uint64_t i) const {
        uint32_t reader = threadIdx.x;
        bool mine = reader < a.ranks && has(a.readers, reader);
        uint64_t number = mine ? sent[reader] + i : 0;
        bool room = !mine || number < RING_PIECES ||
                    await_count(word(a, a.rank, TAKEN, reader), number + 1 - RING_PIECES, a.stop);
        if (!__syncthreads_and(room)) {
            return false;
        }
        for (uint32_t k = 1; k < a.ranks; k++) {
            uint32_t to = (a.rank + k) % a.ranks;
            if (has(a.readers, to)) {
                copy<COPIES_AT_ONCE>(ring(to, a.rank, sent[to] + i),
                                     a.in + to * a.in_stride + offset(i), length(i), threadIdx.x,
                                     LANE_THREADS);
            }
        }
        __syncthreads();
        if (mine) {
            store_release(word(a, reader, PUT, a.rank), number + 1);
        }
        return true;
    }

    /* Takes the i-th piece of all sources; all threads of the block call it together. */
    template <typename Take>
    __device__ bool take(uint64_t i, Take&& take_piece) const {
        uint32_t source = threadIdx.x;
        bool other = source < a.ranks && source != a.rank && has(a.sources, source);
        uint64_t wanted = other ? received[source] + i + 1 : 0;
        bool come = !other || await_count(word(a, a.rank, PUT, source), wanted, a.stop);
        if (!__syncthreads_and(come)) {
            return false;
        }
        take_piece(*this, i);
        __syncthreads();
        /* What was read has been stored by now, so it needs no release. */
        if (other) {
            store(word(a, source, TAKEN, a.rank), wanted);
        }
        return true;
    }

    /* Where a source's i-th piece is, the rank's own one included. */
    __device__ uint64_t taken_from(uint32_t source, uint64_t i) const {
        return source == a.rank ? a.in + source * a.in_stride + offset(i)
                                : ring(a.rank, source, received[source] + i);
    }

    __device__ void copy_piece(uint64_t i) const {
        for (uint32_t k = 0; k < a.ranks; k++) {
            uint32_t source = (a.rank + a.ranks - k) % a.ranks;
            if (has(a.sources, source)) {
                copy<COPIES_AT_ONCE>(a.out + source * a.out_stride + offset(i),
                                     taken_from(source, i), length(i), threadIdx.x, LANE_THREADS);
            }
        }
    }

    /* Folds N times 16 bytes; WHOLE if they lie at multiples of 16, and `left` is not needed. */
    template <typename E, typename Op, uint32_t N, bool WHOLE>
    __device__ void fold_words(uint64_t i, uint64_t at, int64_t left) const {
        constexpr uint32_t STEP = LANE_THREADS * WORDS_BYTES;
        Folded<E, Op> low[N];
        Folded<E, Op> high[N];
        for (uint32_t source = 0; source < a.ranks; source++) {
            uint64_t from = taken_from(source, i) + at;
            Words words[N];
#pragma unroll
            for (uint32_t k = 0; k < N; k++) {
                words[k] = WHOLE ? load_whole(from + k * STEP) : load_words(from + k * STEP, left);
            }
#pragma unroll
            for (uint32_t k = 0; k < N; k++) {
                if (source == 0) {
                    low[k].begin(words[k].first);
                    high[k].begin(words[k].second);
                } else {
                    low[k].add(words[k].first);
                    high[k].add(words[k].second);
                }
            }
        }
        uint64_t to = a.out + offset(i) + at;
#pragma unroll
        for (uint32_t k = 0; k < N; k++) {
            if constexpr (Op::AVERAGES) {
                if (a.divisor != 0) {
                    low[k].divide(a.divisor);
                    high[k].divide(a.divisor);
                }
            }
            Words words = {low[k].end(), high[k].end()};
            if (WHOLE) {
                store_whole(to + k * STEP, words);
            } else {
                store_words(to + k * STEP, left, words);
            }
        }
    }

    template <typename E, typename Op>
    __device__ void fold_piece(uint64_t i) const {
        /* So that a thread has 16 registers for what it folds. */
        constexpr uint32_t N = 32 / sizeof(Folded<E, Op>);
        constexpr uint32_t STEP = LANE_THREADS * WORDS_BYTES;
        uint32_t bytes = length(i);
        uint32_t at = threadIdx.x * WORDS_BYTES;
        bool aligned = (a.out | (a.in + a.rank * a.in_stride)) % WORDS_BYTES == 0;
        for (; aligned && at + (N - 1) * STEP + WORDS_BYTES <= bytes; at += N * STEP) {
            fold_words<E, Op, N, true>(i, at, 0);
        }
        for (; N > 1 && aligned && at + WORDS_BYTES <= bytes; at += STEP) {
            fold_words<E, Op, 1, true>(i, at, 0);
        }
        for (; at < bytes; at += STEP) {
            fold_words<E, Op, 1, false>(i, at, int64_t(bytes) - at);
        }
    }
};

/* Everything; `take_piece` is what becomes of a piece that has come. A kernel that is to stop ends.
 */
template <typename Take>
__device__ void run(const Arguments& a, Take&& take_piece) {
    __shared__ uint64_t sent[MOST_RANKS];
    __shared__ uint64_t received[MOST_RANKS];
    /* From here on the kernel before is over. */
    asm volatile("griddepcontrol.wait;" ::: "memory");
    uint32_t other = threadIdx.x;
    bool peer = other < a.ranks && other != a.rank;
    if (peer) {
        Words state = load_pair(Lane::word(a, a.rank, STATE, other));
        sent[other] = state.first;
        received[other] = state.second;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0 && a.started != 0) {
        store(a.started, a.use);
    }
    __syncthreads();
    Lane lane(a, sent, received);
    uint64_t pieces = lane.pieces();
    bool going = true;
    for (uint64_t i = 0; going && i <= pieces; i++) {
        if (a.readers != 0 && i < pieces) {
            going = lane.send(i);
        }
        if (a.sources != 0 && i > 0 && going) {
            going = lane.take(i - 1, take_piece);
        }
    }
    /* The next kernel of the stream gets places when this one needs no other rank any more. */
    asm volatile("griddepcontrol.launch_dependents;");
    if (peer) {
        uint64_t out = sent[other] + (has(a.readers, other) ? pieces : 0);
        uint64_t in = received[other] + (has(a.sources, other) ? pieces : 0);
        store_pair(Lane::word(a, a.rank, STATE, other), {out, in});
    }
    tell_end(a.memory[a.rank] + BLOCKS_DONE, a.done, a.use);
}

}  // namespace jccl

/*
 * As many registers for each thread as the large kernels of exchange.cu: a GPU holds the kernels of
 * four communicators side by side.
 */
#define JCCL_PIECES(NAME, ...)                                                                  \
    extern "C" __global__ void __launch_bounds__(jccl::LANE_THREADS, 1024 / jccl::LANE_THREADS) \
        NAME##_long(const __grid_constant__ jccl::Arguments arguments) {                        \
        jccl::run(arguments, [](const jccl::Lane& lane, uint64_t i) { lane.__VA_ARGS__(i); });  \
    }

#define JCCL_FOLD(NUMBER, REDUCTION, ...) \
    JCCL_PIECES(jccl_fold_##NUMBER##_##REDUCTION, template fold_piece<__VA_ARGS__>)

JCCL_PIECES(jccl_copy, copy_piece)
JCCL_FOLDS(JCCL_FOLD)
