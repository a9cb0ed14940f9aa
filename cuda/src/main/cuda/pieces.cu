/*
 * Collectives of large parts between GPUs that reach each other's memory. The lanes of a kernel, a
 * block of threads each, share a part and need nothing of each other. A lane cuts its share into
 * pieces of plain bytes. It writes a piece into a ring that it has in the memory of each reader;
 * then it takes the piece before from all sources, which it copies or folds in the order of the
 * ranks; then it tells the readers how many it has put there, and the sources how many it has
 * taken. Cost for n ranks and parts of s bytes: two trips, and at most (n - 1) s bytes that a rank
 * sends.
 *
 * Between more than two ranks a broadcast and a reduce cut their s bytes into n - 1 parts, one for
 * each rank but the root, which relays it: in a broadcast it gets the pieces of its part from the
 * root and sends them to the others but the root; in a reduce it gets them from all, folds them and
 * sends what comes out to the root. Cost: four trips, and s bytes that each rank sends and
 * receives at most, while pieces are on all ways at once.
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
constexpr uint64_t RINGS_BYTES = 51 << 20;

struct Lane {
    const Arguments& a;
    /* By rank, how many pieces kernels before have sent to it and received from it. */
    const uint64_t* sent;
    const uint64_t* received;
    /* What there is room for in a ring, and how much of it is used. */
    uint32_t place_bytes;
    uint32_t piece_bytes;
    /* The lane's share of a part. */
    uint64_t begin;
    uint64_t end;

    __device__ Lane(const Arguments& arguments, const uint64_t* sent, const uint64_t* received)
        : a(arguments), sent(sent), received(received) {
        uint64_t share = share_of(a.bytes, gridDim.x);
        place_bytes = room_of(RINGS_BYTES, gridDim.x * (a.ranks - 1));
        piece_bytes = relays() ? relayed_piece(share, place_bytes) : piece_of(share, place_bytes);
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
        return a.memory[owner] + RINGS + place * (place_bytes + GAP);
    }

    /* Whether ranks relay parts. */
    __device__ bool relays() const {
        return a.rootless < a.ranks;
    }

    /* The number of a rank's part. */
    __device__ uint32_t part(uint32_t rank) const {
        return rank - (rank > a.rootless ? 1 : 0);
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

    /* The same of a rank's part, since relayed parts may end early. */
    __device__ uint32_t length(uint32_t rank, uint64_t i) const {
        uint64_t at = part(rank) * a.bytes + offset(i);
        return relays() ? uint32_t(min(a.all - min(a.all, at), uint64_t(length(i)))) : length(i);
    }

    /* Whether a reader has room for the i-th piece, waiting for it; false if the host says stop. */
    __device__ bool room(uint32_t reader, uint64_t i) const {
        uint64_t number = sent[reader] + i;
        return number < RING_PIECES ||
               await_count(word(a, a.rank, TAKEN, reader), number + 1 - RING_PIECES, a.stop);
    }

    /* Tells these readers that the i-th piece has come, when all threads have stored theirs. */
    __device__ void tell(uint32_t readers, uint64_t i) const {
        uint32_t peer = threadIdx.x;
        if (peer < a.ranks && has(readers, peer)) {
            store_release(word(a, peer, PUT, a.rank), sent[peer] + i + 1);
        }
    }

    /*
     * Tells these sources that the i-th piece has been taken, when all threads have it. What was
     * read has been stored by then, so it needs no release.
     */
    __device__ void free(uint32_t sources, uint64_t i) const {
        uint32_t peer = threadIdx.x;
        if (peer < a.ranks && peer != a.rank && has(sources, peer)) {
            store(word(a, peer, TAKEN, a.rank), received[peer] + i + 1);
        }
    }

    /* Sends the i-th piece to all readers; all threads of the block call it together. */
    __device__ bool send(uint64_t i) const {
        uint32_t reader = threadIdx.x;
        bool mine = reader < a.ranks && has(a.readers, reader);
        if (!__syncthreads_and(!mine || room(reader, i))) {
            return false;
        }
        for (uint32_t k = 1; k < a.ranks; k++) {
            uint32_t to = (a.rank + k) % a.ranks;
            if (has(a.readers, to)) {
                copy<COPIES_AT_ONCE>(ring(to, a.rank, sent[to] + i),
                                     a.in + part(to) * a.in_stride + offset(i), length(to, i),
                                     threadIdx.x, LANE_THREADS);
            }
        }
        return true;
    }

    /*
     * Takes the i-th piece of all of these sources, when there is room for what becomes of it where
     * it is passed to; all threads of the block call it together.
     */
    template <typename Take>
    __device__ bool take(uint32_t sources, uint32_t passed_to, uint64_t i,
                         Take&& take_piece) const {
        uint32_t peer = threadIdx.x;
        bool from = peer < a.ranks && peer != a.rank && has(sources, peer);
        bool to = peer < a.ranks && has(passed_to, peer);
        bool come =
            !from || await_count(word(a, a.rank, PUT, peer), received[peer] + i + 1, a.stop);
        if (!__syncthreads_and(come && (!to || room(peer, i)))) {
            return false;
        }
        take_piece(*this, i);
        return true;
    }

    /* Where a source's i-th piece is, the rank's own one included. */
    __device__ uint64_t taken_from(uint32_t source, uint64_t i) const {
        return source == a.rank ? a.in + part(source) * a.in_stride + offset(i)
                                : ring(a.rank, source, received[source] + i);
    }

    /* Copies the i-th piece of these sources' parts to its place. */
    __device__ void copy_parts(uint32_t sources, uint64_t i) const {
        for (uint32_t k = 0; k < a.ranks; k++) {
            uint32_t source = (a.rank + a.ranks - k) % a.ranks;
            if (has(sources, source)) {
                copy<COPIES_AT_ONCE>(a.out + part(source) * a.out_stride + offset(i),
                                     taken_from(source, i), length(source, i), threadIdx.x,
                                     LANE_THREADS);
            }
        }
    }

    /* The root of a broadcast keeps the i-th piece of all parts. */
    __device__ void keep(uint64_t i) const {
        for (uint32_t k = 0; k < a.ranks; k++) {
            if (k != a.rank) {
                uint64_t at = part(k) * a.in_stride + offset(i);
                copy<COPIES_AT_ONCE>(a.out + at, a.in + at, length(k, i), threadIdx.x,
                                     LANE_THREADS);
            }
        }
    }

    /* Another rank keeps the i-th piece of its part and sends it on. */
    __device__ void pass_on(uint64_t i) const {
        uint64_t from = taken_from(a.rootless, i);
        uint32_t bytes = length(a.rank, i);
        for (uint32_t k = 1; k < a.ranks; k++) {
            uint32_t to = (a.rank + k) % a.ranks;
            if (has(a.relays, to)) {
                copy<COPIES_AT_ONCE>(ring(to, a.rank, sent[to] + i), from, bytes, threadIdx.x,
                                     LANE_THREADS);
            }
        }
        copy<COPIES_AT_ONCE>(a.out + part(a.rank) * a.out_stride + offset(i), from, bytes,
                             threadIdx.x, LANE_THREADS);
    }

    __device__ void copy_piece(uint64_t i) const {
        if (!relays()) {
            copy_parts(a.sources, i);
        } else if (a.rank == a.rootless) {
            keep(i);
        } else {
            pass_on(i);
        }
    }

    /* Folds N times 16 bytes; WHOLE if they lie at multiples of 16, and `left` is not needed. */
    template <typename E, typename Op, uint32_t N, bool WHOLE>
    __device__ void fold_words(uint64_t result, uint64_t i, uint64_t at, int64_t left) const {
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
        uint64_t to = result + at;
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
        uint32_t bytes = length(a.rank, i);
        uint32_t at = threadIdx.x * WORDS_BYTES;
        uint64_t result =
            relays() ? ring(a.rootless, a.rank, sent[a.rootless] + i) : a.out + offset(i);
        bool aligned = (result | taken_from(a.rank, i)) % WORDS_BYTES == 0;
        for (; aligned && at + (N - 1) * STEP + WORDS_BYTES <= bytes; at += N * STEP) {
            fold_words<E, Op, N, true>(result, i, at, 0);
        }
        for (; N > 1 && aligned && at + WORDS_BYTES <= bytes; at += STEP) {
            fold_words<E, Op, 1, true>(result, i, at, 0);
        }
        for (; at < bytes; at += STEP) {
            fold_words<E, Op, 1, false>(result, i, at, int64_t(bytes) - at);
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
    uint64_t turns = pieces + (a.relayed != 0 ? 2 : 1);
    bool going = true;
    for (uint64_t i = 0; going && i < turns; i++) {
        bool sends = a.readers != 0 && i < pieces;
        bool takes = a.sources != 0 && i > 0 && i <= pieces;
        /* A count waits for what was stored before it to arrive, so it follows later; but the next
           piece of a relay waits for it. */
        bool later = takes && !lane.relays();
        if (sends) {
            going = lane.send(i);
            if (going && !later) {
                __syncthreads();
                lane.tell(a.readers, i);
            }
        }
        if (takes && going && (going = lane.take(a.sources, a.relays, i - 1, take_piece))) {
            __syncthreads();
            lane.tell(sends && later ? a.readers : 0, i);
            lane.tell(a.relays, i - 1);
            lane.free(a.sources, i - 1);
        }
        if (a.relayed != 0 && i > 1 && going) {
            going = lane.take(a.relayed, 0, i - 2, [](const Lane& self, uint64_t piece) {
                self.copy_parts(self.a.relayed, piece);
            });
            if (going) {
                __syncthreads();
                lane.free(a.relayed, i - 2);
            }
        }
    }
    /* The next kernel of the stream gets places when this one needs no other rank any more. */
    asm volatile("griddepcontrol.launch_dependents;");
    if (peer) {
        uint64_t out = sent[other] + (has(a.readers | a.relays, other) ? pieces : 0);
        uint64_t in = received[other] + (has(a.sources | a.relayed, other) ? pieces : 0);
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
