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
 */
template <uint32_t AT_ONCE>
struct Kernel {
    const Arguments& a;
    uint64_t own;
    uint64_t epoch;

    /* Whether the kernel before had several epochs. */
    bool several;

    __device__ explicit Kernel(const Arguments& arguments) : a(arguments), own(a.memory[a.rank]) {
        /* From here on the kernel before is over. */
        asm volatile("griddepcontrol.wait;" ::: "memory");
        if (AT_ONCE == 1) {
            launch_next();
        }
        Words last = load_pair(own + EPOCHS + 16 * blockIdx.x);
        epoch = last.first + 1;
        several = last.second != 0;
    }

    /*
     * Lets the next kernel of the stream take its places on the GPU, where it waits for the end of
     * this one. Places of large kernels are scarce: the next one gets them when this one needs no
     * other rank any more.
     */
    __device__ static void launch_next() {
        asm volatile("griddepcontrol.launch_dependents;");
    }

    __device__ uint64_t slot(uint32_t reader, uint32_t writer, uint64_t line) const {
        uint64_t set = (epoch & 1) * a.ranks + writer;
        uint64_t place = set * a.slot_lines + line;
        return a.memory[reader] + SLOTS + place * LINE_BYTES + threadIdx.x % LINE_THREADS * 16;
    }

    __device__ bool is_last_thread() const {
        return threadIdx.x % LINE_THREADS == LINE_THREADS - 1;
    }

    /* Tells the readers that this rank has come, and waits until they no longer need the slots. */
    __device__ bool start(uint64_t epochs) {
        uint32_t other = threadIdx.x;
        bool peer = other < a.ranks && other != a.rank;
        bool reader = peer && has(a.readers, other);
        uint64_t at = own + STARTED + 8 * other;
        uint64_t seen = reader ? load(at) : 0;
        if (blockIdx.x == 0) {
            if (peer) {
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
    __device__ bool next() {
        uint32_t other = threadIdx.x;
        bool go = true;
        __syncthreads();
        if (other < a.ranks && other != a.rank) {
            uint64_t mine = 8 * (a.rank * MOST_BLOCKS + blockIdx.x);
            uint64_t theirs = 8 * (other * MOST_BLOCKS + blockIdx.x);
            if (has(a.sources, other)) {
                store(a.memory[other] + BEGUN + mine, epoch);
            }
            if (has(a.readers, other)) {
                go = await(own + BEGUN + theirs, epoch - 1, a.stop);
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

    /* This thread's parts of lines that follow each other at a distance of `step`. */
    struct Lines {
        uint64_t line;
        uint64_t step;
        /* How many there are, at most AT_ONCE. */
        uint32_t count;
    };

    __device__ static Lines lines_from(uint64_t line, uint64_t step, uint64_t end) {
        uint64_t left = line < end ? (end - line + step - 1) / step : 0;
        return {line, step, uint32_t(min(left, uint64_t(AT_ONCE)))};
    }

    __device__ void input(uint32_t part, uint64_t first, Lines lines, Words* words) const {
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            if (k < lines.count) {
                words[k] = input(part, first + lines.line + k * lines.step);
            }
        }
    }

    /* Writes lines to all readers; `words` are those for the first one. */
    __device__ void send(uint64_t first, Lines lines, Words* words) const {
        for (uint32_t i = 1; i < a.ranks; i++) {
            uint32_t reader = (a.rank + i) % a.ranks;
            if (!has(a.readers, reader)) {
                continue;
            }
            if (i > 1 && (a.in_stride != 0 || a.rooted != 0)) {
                input(reader, first, lines, words);
            }
            uint64_t to = slot(reader, a.rank, lines.line);
            converge_line();
#pragma unroll
            for (uint32_t k = 0; k < AT_ONCE; k++) {
                if (k < lines.count) {
                    uint64_t second = is_last_thread() ? epoch : words[k].second;
                    store_pair(to + k * lines.step * LINE_BYTES, {words[k].first, second});
                }
            }
        }
    }

    __device__ bool take(uint32_t source, uint64_t first, Lines lines, Words* words) const {
        if (source == a.rank) {
            input(source, first, lines, words);
            return true;
        }
        return await_lines<AT_ONCE>(slot(a.rank, source, lines.line), lines.step * LINE_BYTES,
                                    lines.count, epoch, a.stop, words);
    }

    /* Copies lines of all sources; all threads of a warp call it together. */
    __device__ bool copy(uint64_t first, Lines lines) const {
        for (uint32_t i = 0; i < a.ranks; i++) {
            uint32_t source = (a.rank + a.ranks - i) % a.ranks;
            if (!has(a.sources, source)) {
                continue;
            }
            Words words[AT_ONCE] = {};
            if (!take(source, first, lines, words)) {
                return false;
            }
#pragma unroll
            for (uint32_t k = 0; k < AT_ONCE; k++) {
                if (k < lines.count) {
                    output(source, first + lines.line + k * lines.step, words[k]);
                }
            }
        }
        return true;
    }

    /* Folds lines of all ranks in their order; all threads of a warp call it together. */
    template <typename E, typename Op>
    __device__ bool fold(uint64_t first, Lines lines) const {
        Folded<E, Op> low[AT_ONCE];
        Folded<E, Op> high[AT_ONCE];
        for (uint32_t source = 0; source < a.ranks; source++) {
            Words words[AT_ONCE] = {};
            if (!take(source, first, lines, words)) {
                return false;
            }
#pragma unroll
            for (uint32_t k = 0; k < AT_ONCE; k++) {
                if (source == 0) {
                    low[k].begin(words[k].first);
                    high[k].begin(words[k].second);
                } else {
                    low[k].add(words[k].first);
                    high[k].add(words[k].second);
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
            if (k < lines.count) {
                output(0, first + lines.line + k * lines.step, {low[k].end(), high[k].end()});
            }
        }
        return true;
    }

    __device__ void end(uint64_t epochs) {
        if (AT_ONCE > 1) {
            launch_next();
        }
        for (uint32_t block = blockIdx.x + threadIdx.x * gridDim.x; block < MOST_BLOCKS;
             block += blockDim.x * gridDim.x) {
            store_pair(own + EPOCHS + 16 * block, {epoch, epochs > 1 ? 1ull : 0ull});
        }
        tell_end(own + BLOCKS_DONE, a.done, a.use);
    }

    /* Everything; `Take` is what becomes of the lines that come. A kernel that is to stop ends. */
    template <typename Take>
    __device__ void run(Take&& take_lines) {
        uint64_t lines = (a.bytes + LINE_DATA_BYTES - 1) / LINE_DATA_BYTES;
        uint64_t epochs = (lines + a.slot_lines - 1) / a.slot_lines;
        uint64_t mine = (blockIdx.x * blockDim.x + threadIdx.x) / LINE_THREADS;
        uint64_t step = gridDim.x * blockDim.x / LINE_THREADS;
        uint32_t next_rank = (a.rank + 1) % a.ranks;
        Words words[AT_ONCE] = {};
        bool loaded = has(a.readers, next_rank);
        if (loaded) {
            input(next_rank, 0, lines_from(mine, step, min(uint64_t(a.slot_lines), lines)), words);
        }
        bool going = start(epochs);
        for (uint64_t first = 0; going && first < lines; first += a.slot_lines) {
            if (first > 0) {
                epoch++;
                loaded = false;
                if (a.rooted != 0 && !next()) {
                    break;
                }
            }
            uint64_t end = min(uint64_t(a.slot_lines), lines - first);
            if (a.readers != 0) {
                for (uint64_t line = mine; line < end; line += AT_ONCE * step) {
                    Lines some = lines_from(line, step, end);
                    if (!loaded && has(a.readers, next_rank)) {
                        input(next_rank, first, some, words);
                    }
                    loaded = false;
                    send(first, some, words);
                }
                __syncwarp();
            }
            if (a.sources != 0) {
                /* Whole warps, whose first lines are multiples of four. */
                uint64_t of_warp = mine - threadIdx.x % 32 / LINE_THREADS;
                for (uint64_t at = 0; going && of_warp + at < end; at += AT_ONCE * step) {
                    going = take_lines(first, lines_from(mine + at, step, end));
                }
            }
        }
        end(epochs);
    }
};

}  // namespace jccl

/*
 * For parts of up to 512 KiB, and for others. A block waits for the other ranks' blocks and keeps
 * its place on the GPU meanwhile, so kernels of communicators that ranks come to in different
 * orders must fit side by side: with so few registers an SM holds four of the small blocks, or two
 * large.
 */
#define JCCL_KERNEL(NAME, ...)                                                               \
    extern "C" __global__ void __launch_bounds__(256, 4)                                     \
        NAME##_small(const __grid_constant__ jccl::Arguments arguments) {                    \
        using Kernel = jccl::Kernel<1>;                                                      \
        Kernel kernel(arguments);                                                            \
        kernel.run([&](uint64_t first, Kernel::Lines lines) { return kernel.__VA_ARGS__; }); \
    }                                                                                        \
    extern "C" __global__ void __launch_bounds__(512, 2)                                     \
        NAME##_large(const __grid_constant__ jccl::Arguments arguments) {                    \
        using Kernel = jccl::Kernel<2>;                                                      \
        Kernel kernel(arguments);                                                            \
        kernel.run([&](uint64_t first, Kernel::Lines lines) { return kernel.__VA_ARGS__; }); \
    }

#define JCCL_FOLD(NUMBER, REDUCTION, ...) \
    JCCL_KERNEL(jccl_fold_##NUMBER##_##REDUCTION, template fold<__VA_ARGS__>(first, lines))

JCCL_KERNEL(jccl_copy, copy(first, lines))
JCCL_FOLDS(JCCL_FOLD)
