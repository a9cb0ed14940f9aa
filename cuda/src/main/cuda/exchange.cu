/*
 * Collectives between GPUs that reach each other's memory. Every rank writes lines of its input
 * into slots that the others keep for it, waits for the lines that it is to get, and copies or
 * folds them, in the order of the ranks, into its output. One trip over the wire, no barrier, no
 * fence; the ranks' buffers are touched by nobody else. Cost for n ranks and parts of s bytes: a
 * rank sends at most (n - 1) s 128/120 bytes.
 *
 * A slot holds a piece of the part. A longer part takes several epochs, and epochs use two sets of
 * slots in turn. A rank overwrites what another one has read: in epochs of which every rank hears
 * from every other it knows that from the lines of the epoch before; of a whole kernel it knows it
 * once the reader's next kernel has started, since these kernels of a communicator run one
 * after the other.
 */
#include <cstdint>

#include "arguments.cuh"
#include "folds.cuh"
#include "lines.cuh"

namespace jccl {

constexpr uint32_t MOST_BLOCKS = 128;

/*
 * A rank's memory. What the others write: by rank, the last epoch of the kernel that the rank has
 * started; farewells, which kernels do not read; by rank and block, the epoch that the block has
 * begun. The rank's own state: how many blocks of the present kernel are done; for each block the
 * last epoch, and whether it was not the only one of its kernel. All blocks have the same, however
 * many a kernel has: each keeps the entries of those that are missing. Then the slots, by parity of
 * the epoch and by rank.
 */
constexpr uint64_t STARTED = 128;
constexpr uint64_t BEGUN = 256;
constexpr uint64_t BLOCKS_DONE = BEGUN + 8 * MOST_RANKS * MOST_BLOCKS;
constexpr uint64_t EPOCHS = BLOCKS_DONE + 128;
constexpr uint64_t SLOTS = EPOCHS + 16 * MOST_BLOCKS;

/*
 * AT_ONCE: lines that a thread has under way at a time, so that their latencies overlap. For small
 * parts one is better, since the code is shorter.
 * BY_PEER: a warp exchanges its lines with one rank, which may be its own, so that ranks' lines
 * come and go side by side; a block has as many sets of a warp for each rank as it has room for,
 * and what is left over has no lines. If not, a warp exchanges its lines with all ranks.
 */
template <uint32_t AT_ONCE, bool BY_PEER>
struct Kernel {
    /* Of how many ranks a thread that folds reads lines at a time. */
    static constexpr uint32_t RANKS_AT_ONCE = AT_ONCE == 1 ? 4 : 1;

    const Arguments& a;
    uint64_t own;

    uint32_t lines;
    uint32_t epochs;

    /* The rank that the warp exchanges lines with if it is one; whether the warp has no lines. */
    uint32_t peer;
    bool idle;

    /* The thread's first line of an epoch, and the distance to its next one. */
    uint32_t mine;
    uint32_t step;

    uint64_t epoch;

    /* Whether the kernel before had several epochs. */
    bool several;

    /* What needs nothing of the kernel before is found out while that one runs. */
    __device__ explicit Kernel(const Arguments& arguments) : a(arguments), own(a.memory[a.rank]) {
        lines = uint32_t((a.bytes + LINE_DATA_BYTES - 1) / LINE_DATA_BYTES);
        epochs = lines <= a.slot_lines ? 1 : (lines + a.slot_lines - 1) / a.slot_lines;
        uint32_t warp = threadIdx.x / 32;
        uint32_t sets = blockDim.x / 32;
        peer = a.rank;
        idle = false;
        if (BY_PEER) {
            sets /= a.ranks;
            peer = wrapped(a.rank + warp % a.ranks);
            warp /= a.ranks;
            idle = warp >= sets;
        }
        mine = (blockIdx.x * sets + warp) * WARP_LINES + threadIdx.x % 32 / LINE_THREADS;
        step = gridDim.x * sets * WARP_LINES;
        /* From here on the kernel before is over; the operands keep their computation before it. */
        asm volatile("griddepcontrol.wait;" ::"r"(lines), "r"(epochs), "r"(mine), "r"(step),
                     "r"(peer), "l"(a.in), "l"(a.out), "l"(own)
                     : "memory");
        if (AT_ONCE == 1) {
            launch_next();
        }
        Words last = load_pair(own + EPOCHS + 16 * blockIdx.x);
        epoch = last.first + 1;
        several = last.second != 0;
    }

    __device__ uint32_t wrapped(uint32_t rank) const {
        return rank < a.ranks ? rank : rank - a.ranks;
    }

    /*
     * Lets the next kernel of the stream take its places on the GPU, where it waits for the end of
     * this one. Places of large kernels are scarce: the next one gets them when this one needs no
     * other rank any more.
     */
    __device__ static void launch_next() {
        asm volatile("griddepcontrol.launch_dependents;");
    }

    __device__ uint64_t slot(uint32_t reader, uint32_t writer, uint32_t line) const {
        uint32_t set = uint32_t(epoch & 1) * a.ranks + writer;
        uint64_t place = uint64_t(set) * a.slot_lines + line;
        return a.memory[reader] + SLOTS + place * LINE_BYTES + threadIdx.x % LINE_THREADS * 16;
    }

    __device__ bool is_last_thread() const {
        return threadIdx.x % LINE_THREADS == LINE_THREADS - 1;
    }

    /* Tells the readers that this rank has come, and waits until they no longer need the slots. */
    __device__ bool start() const {
        uint32_t other = threadIdx.x;
        bool is_other = other < a.ranks && other != a.rank;
        bool reader = is_other && has(a.readers, other);
        uint64_t at = own + STARTED + 8 * other;
        uint64_t seen = reader ? load(at) : 0;
        if (blockIdx.x == 0) {
            if (is_other) {
                store(a.memory[other] + STARTED + 8 * a.rank, epoch + epochs - 1);
            }
            if (threadIdx.x == 0 && a.started != 0) {
                store(a.started, a.use);
            }
        }
        uint64_t needed = several ? epoch : epoch - 1;
        bool go = !reader || seen >= needed || await(at, needed, a.stop);
        return __syncthreads_and(go) != 0;
    }

    /* The same for a later epoch of a kernel in which a rank does not hear from its readers. */
    __device__ bool next() const {
        uint32_t other = threadIdx.x;
        bool go = true;
        __syncthreads();
        if (other < a.ranks && other != a.rank) {
            uint64_t of_mine = 8 * (a.rank * MOST_BLOCKS + blockIdx.x);
            uint64_t of_theirs = 8 * (other * MOST_BLOCKS + blockIdx.x);
            if (has(a.sources, other)) {
                store(a.memory[other] + BEGUN + of_mine, epoch);
            }
            if (has(a.readers, other)) {
                go = await(own + BEGUN + of_theirs, epoch - 1, a.stop);
            }
        }
        return __syncthreads_and(go) != 0;
    }

    __device__ Words input(uint32_t part, uint64_t line) const {
        uint64_t at = line * LINE_DATA_BYTES + threadIdx.x % LINE_THREADS * 16;
        uint64_t from = a.in + part * a.in_stride + at;
        int64_t left = int64_t(a.bytes - at);
        Words words = {load_bytes(from, left), 0};
        if (!is_last_thread()) {
            words.second = load_bytes(from + 8, left - 8);
        }
        return words;
    }

    __device__ void output(uint32_t part, uint64_t line, Words words) const {
        uint64_t at = line * LINE_DATA_BYTES + threadIdx.x % LINE_THREADS * 16;
        uint64_t to = a.out + part * a.out_stride + at;
        int64_t left = int64_t(a.bytes - at);
        store_bytes(to, left, words.first);
        if (!is_last_thread()) {
            store_bytes(to + 8, left - 8, words.second);
        }
    }

    /* How many of this thread's next AT_ONCE lines, from one on, are before the end. */
    __device__ uint32_t count(uint32_t line, uint32_t end) const {
        uint32_t count = 0;
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            count += line + k * step < end ? 1 : 0;
        }
        return count;
    }

    __device__ void input(uint32_t part, uint32_t first, uint32_t line, uint32_t count,
                          Words* words) const {
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            if (k < count) {
                words[k] = input(part, first + line + k * step);
            }
        }
    }

    __device__ void output(uint32_t part, uint32_t first, uint32_t line, uint32_t count,
                           const Words* words) const {
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            if (k < count) {
                output(part, first + line + k * step, words[k]);
            }
        }
    }

    /* Writes lines into a reader's slot; the threads of a line call it together. */
    __device__ void write(uint32_t reader, uint32_t line, uint32_t count,
                          const Words* words) const {
        uint64_t to = slot(reader, a.rank, line);
        converge_line();
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            if (k < count) {
                uint64_t second = is_last_thread() ? epoch : words[k].second;
                store_pair(to + uint64_t(k) * step * LINE_BYTES, {words[k].first, second});
            }
        }
    }

    /*
     * An epoch of a warp that exchanges lines with one rank: it has `end` lines, which follow the
     * part's first `first`. False if the host says stop.
     */
    __device__ bool with_peer(uint32_t first, uint32_t end) const {
        if (has(a.readers, peer)) {
            for (uint32_t line = mine; line < end; line += AT_ONCE * step) {
                Words words[AT_ONCE] = {};
                uint32_t some = count(line, end);
                input(peer, first, line, some, words);
                write(peer, line, some, words);
            }
            __syncwarp();
        }
        if (!has(a.sources, peer)) {
            return true;
        }
        uint32_t of_warp = mine - threadIdx.x % 32 / LINE_THREADS;
        for (uint32_t at = 0; of_warp + at < end; at += AT_ONCE * step) {
            Words words[AT_ONCE] = {};
            uint32_t line = mine + at;
            uint32_t some = count(line, end);
            if (peer == a.rank) {
                input(peer, first, line, some, words);
            } else if (!await_lines<AT_ONCE>(slot(a.rank, peer, line), step * LINE_BYTES, some,
                                             epoch, a.stop, words)) {
                return false;
            }
            output(peer, first, line, some, words);
        }
        return true;
    }

    /* Sends the same lines to all readers. */
    __device__ void send_same(uint32_t first, uint32_t line, uint32_t some) const {
        Words words[AT_ONCE] = {};
        input(0, first, line, some, words);
        for (uint32_t i = 1; i < a.ranks; i++) {
            uint32_t reader = wrapped(a.rank + i);
            if (has(a.readers, reader)) {
                write(reader, line, some, words);
            }
        }
    }

    /* Sends lines of each rank's part to that rank. */
    __device__ void send_parts(uint32_t first, uint32_t line, uint32_t some) const {
        for (uint32_t i = 1; i < a.ranks; i += RANKS_AT_ONCE) {
            Words words[RANKS_AT_ONCE][AT_ONCE] = {};
#pragma unroll
            for (uint32_t j = 0; j < RANKS_AT_ONCE; j++) {
                if (i + j < a.ranks) {
                    input(wrapped(a.rank + i + j), first, line, some, words[j]);
                }
            }
#pragma unroll
            for (uint32_t j = 0; j < RANKS_AT_ONCE; j++) {
                if (i + j < a.ranks) {
                    write(wrapped(a.rank + i + j), line, some, words[j]);
                }
            }
        }
    }

    /*
     * Waits for lines of RANKS_AT_ONCE ranks from `source` on; all threads of a warp call it
     * together.
     */
    __device__ bool take(uint32_t source, uint32_t first, uint32_t line, uint32_t some,
                         Words (*words)[AT_ONCE]) const {
        uint64_t address = slot(a.rank, source, line);
        uint64_t to_next = uint64_t(a.slot_lines) * LINE_BYTES;
#pragma unroll
        for (uint32_t j = 0; j < RANKS_AT_ONCE; j++) {
            if (source + j == a.rank) {
                input(a.rank, first, line, some, words[j]);
            }
        }
        for (uint32_t polls = 1;; polls++) {
            bool lacks = false;
            __syncwarp();
#pragma unroll
            for (uint32_t j = 0; j < RANKS_AT_ONCE; j++) {
                if (source + j < a.ranks && source + j != a.rank) {
#pragma unroll
                    for (uint32_t k = 0; k < AT_ONCE; k++) {
                        if (k < some) {
                            words[j][k] =
                                load_pair(address + j * to_next + uint64_t(k) * step * LINE_BYTES);
                            lacks |= words[j][k].second != epoch;
                        }
                    }
                }
            }
            if (!__any_sync(ALL_LANES, is_last_thread() && lacks)) {
                return true;
            }
            if (polls % POLLS == 0 && __any_sync(ALL_LANES, load(a.stop) != 0)) {
                return false;
            }
        }
    }

    /* Folds lines of all ranks in their order; all threads of a warp call it together. */
    template <typename E, typename Op>
    __device__ bool fold(uint32_t first, uint32_t line, uint32_t some) const {
        Folded<E, Op> low[AT_ONCE];
        Folded<E, Op> high[AT_ONCE];
        for (uint32_t source = 0; source < a.ranks; source += RANKS_AT_ONCE) {
            Words words[RANKS_AT_ONCE][AT_ONCE] = {};
            if (!take(source, first, line, some, words)) {
                return false;
            }
#pragma unroll
            for (uint32_t j = 0; j < RANKS_AT_ONCE; j++) {
                if (source + j < a.ranks) {
#pragma unroll
                    for (uint32_t k = 0; k < AT_ONCE; k++) {
                        if (source + j == 0) {
                            low[k].begin(words[j][k].first);
                            high[k].begin(words[j][k].second);
                        } else {
                            low[k].add(words[j][k].first);
                            high[k].add(words[j][k].second);
                        }
                    }
                }
            }
        }
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            if constexpr (Op::AVERAGES) {
                if (a.divisor != 0) {
                    low[k].divide(a.divisor);
                    high[k].divide(a.divisor);
                }
            }
            if (k < some) {
                output(0, first + line + k * step, {low[k].end(), high[k].end()});
            }
        }
        return true;
    }

    /* The same of a warp that exchanges lines with all ranks and folds them. */
    template <typename E, typename Op>
    __device__ bool with_all(uint32_t first, uint32_t end) const {
        for (uint32_t line = mine; a.readers != 0 && line < end; line += AT_ONCE * step) {
            uint32_t some = count(line, end);
            if (a.in_stride == 0) {
                send_same(first, line, some);
            } else {
                send_parts(first, line, some);
            }
        }
        __syncwarp();
        if (a.sources == 0) {
            return true;
        }
        uint32_t of_warp = mine - threadIdx.x % 32 / LINE_THREADS;
        for (uint32_t at = 0; of_warp + at < end; at += AT_ONCE * step) {
            if (!fold<E, Op>(first, mine + at, count(mine + at, end))) {
                return false;
            }
        }
        return true;
    }

    __device__ void end() {
        if (AT_ONCE > 1) {
            /* The first thread of a block that says so counts, and some warps wait for nobody. */
            __syncthreads();
            launch_next();
        }
        for (uint32_t block = blockIdx.x + threadIdx.x * gridDim.x; block < MOST_BLOCKS;
             block += blockDim.x * gridDim.x) {
            store_pair(own + EPOCHS + 16 * block, {epoch, epochs > 1 ? 1ull : 0ull});
        }
        tell_end(own + BLOCKS_DONE, a.done, a.use);
    }

    /* Everything; `exchange` is an epoch of a warp. A kernel that is to stop ends. */
    template <typename Exchange>
    __device__ void run(Exchange&& exchange) {
        bool going = start();
        for (uint32_t first = 0; going && first < lines; first += a.slot_lines) {
            if (first > 0) {
                epoch++;
                if (a.rooted != 0 && !next()) {
                    break;
                }
            }
            if (!idle) {
                going = exchange(first, min(a.slot_lines, lines - first));
            }
        }
        end();
    }
};

}  // namespace jccl

/*
 * For small parts, and for others. A block waits for the other ranks' blocks and keeps
 * its place on the GPU meanwhile, so kernels of communicators that ranks come to in different
 * orders must fit side by side: with so few registers an SM holds four of the small blocks, or two
 * large.
 */
#define JCCL_KERNEL(NAME, BY_PEER, ...)                                               \
    extern "C" __global__ void __launch_bounds__(256, 4)                              \
        NAME##_small(const __grid_constant__ jccl::Arguments arguments) {             \
        jccl::Kernel<1, BY_PEER> kernel(arguments);                                   \
        kernel.run([&](uint32_t first, uint32_t end) { return kernel.__VA_ARGS__; }); \
    }                                                                                 \
    extern "C" __global__ void __launch_bounds__(512, 2)                              \
        NAME##_large(const __grid_constant__ jccl::Arguments arguments) {             \
        jccl::Kernel<2, BY_PEER> kernel(arguments);                                   \
        kernel.run([&](uint32_t first, uint32_t end) { return kernel.__VA_ARGS__; }); \
    }

#define JCCL_FOLD(NUMBER, REDUCTION, ...) \
    JCCL_KERNEL(jccl_fold_##NUMBER##_##REDUCTION, false, template with_all<__VA_ARGS__>(first, end))

JCCL_KERNEL(jccl_copy, true, with_peer(first, end))
JCCL_FOLDS(JCCL_FOLD)
