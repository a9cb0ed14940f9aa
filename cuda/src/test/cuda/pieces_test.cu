/*
 * Runs the kernels of pieces.cu for 2 to 4 ranks, which share the GPUs that there are, and compares
 * each result with what the host computes: every collective, in place and out of place, at even and
 * odd addresses and lengths. JCCL itself gives each rank a GPU of its own.
 *
 * nvcc -std=c++17 -O3 --fmad=false -arch=sm_90 -I cuda/src/main/cuda -o pieces_test \
 *     cuda/src/test/cuda/pieces_test.cu && ./pieces_test
 */
#include "pieces.cu"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

namespace {

using jccl::Arguments;
using Kernel = void (*)(Arguments);

constexpr int MOST = 4;
constexpr unsigned LANES = 256;
constexpr size_t MEMORY = jccl::RINGS + jccl::RINGS_BYTES;
constexpr int UNTOUCHED = 0xee;
/* How many bytes behind an output have to stay as they are. */
constexpr size_t BEHIND = 256;
constexpr size_t MOST_COUNT = 2'000'003;
constexpr size_t BUFFER = MOST * MOST_COUNT * 8 + 64;

void check(cudaError_t error, const char* what) {
    if (error != cudaSuccess) {
        std::printf("%s: %s\n", what, cudaGetErrorString(error));
        std::exit(1);
    }
}
#define CHECK(CALL) check(CALL, #CALL)

struct Rank {
    int gpu;
    cudaStream_t stream;
    char* memory;
    char* in;
    char* out;
};

Rank ranks[MOST];
uint64_t* stop;
int cases = 0;
int wrong = 0;

struct Operation {
    const char* name;
    bool reduces;
    bool one_sends;
    bool one_receives;
    bool each_in;
    bool each_out;
    bool relayed;
};

const Operation OPERATIONS[] = {
    {"all_reduce", true, false, false, false, false},
    {"reduce", true, false, true, false, false},
    {"reduce_scatter", true, false, false, true, false},
    {"broadcast", false, true, false, false, false},
    {"all_gather", false, false, false, false, true},
    {"gather", false, false, true, false, true},
    {"scatter", false, true, false, true, false},
    {"alltoall", false, false, false, true, true},
    {"broadcast by relays", false, true, false, false, false, true},
    {"reduce by relays", true, false, true, false, false, true},
};

/* One call of all ranks. */
struct Call {
    const Operation& op;
    int n;
    int root;
    size_t bytes;
    size_t offset;
    bool in_place;
    unsigned divisor;

    bool sends(int r) const {
        return !op.one_sends || r == root;
    }
    bool receives(int r) const {
        return !op.one_receives || r == root;
    }

    /* As org.jccl.cuda.Roles has it. */
    void relay(Arguments& a, int r) const {
        uint32_t own = 1u << r;
        uint32_t all = (1u << n) - 1;
        uint32_t others = all & ~own & ~(1u << root);
        bool is_root = r == root;
        a.readers = op.reduces || is_root ? others : 0;
        a.sources = is_root      ? (op.reduces || a.in == a.out ? 0 : own)
                    : op.reduces ? all
                                 : 1u << root;
        a.relays = is_root ? 0 : op.reduces ? 1u << root : others;
        a.relayed = op.reduces == is_root ? others : 0;
        a.rootless = root;
        a.all = bytes;
        a.bytes = (bytes + 16 * (n - 1) - 1) / (16 * (n - 1)) * 16;
        a.in_stride = a.out_stride = a.bytes;
    }

    Arguments arguments(int r) const {
        Arguments a = {};
        for (int q = 0; q < n; q++) {
            a.memory[q] = uint64_t(ranks[q].memory);
            a.readers |= q != r && sends(r) && receives(q) ? 1u << q : 0;
            a.sources |= receives(r) && sends(q) ? 1u << q : 0;
        }
        a.in_stride = op.each_in ? bytes : 0;
        a.out_stride = op.each_out ? bytes : 0;
        a.in = uint64_t(ranks[r].in) + offset;
        a.out = uint64_t(ranks[r].out) + offset;
        if (in_place && op.each_out && !op.each_in) {
            a.in = a.out + r * bytes;
        } else if (in_place) {
            a.out = a.in + (op.each_in && !op.each_out ? r * bytes : 0);
        }
        if (!op.reduces && a.in + r * a.in_stride == a.out + r * a.out_stride) {
            a.sources &= ~(1u << r);
        }
        a.bytes = bytes;
        a.rootless = n;
        if (op.relayed) {
            relay(a, r);
        }
        a.stop = uint64_t(stop);
        a.rank = r;
        a.ranks = n;
        a.rooted = op.one_sends || op.one_receives;
        a.divisor = divisor;
        return a;
    }
};

template <typename T>
T element(int rank, size_t i) {
    return T(((rank + 1) * 37 + i * 11 + (i >> 9) * 3) % 61);
}

/* What a rank is to have at a place of the part of a rank. */
template <typename T>
T expected(const Call& call, int r, int part, size_t i, size_t count) {
    size_t mine = (call.op.each_in ? r * count : 0) + i;
    if (!call.op.reduces) {
        return element<T>(call.op.each_out ? part : call.root, mine);
    }
    double sum = 0;
    for (int q = 0; q < call.n; q++) {
        sum += double(element<T>(q, mine));
    }
    return T(call.divisor == 0 ? sum : sum / call.divisor);
}

template <typename T>
void run(const Call& call, Kernel kernel) {
    size_t count = call.bytes / sizeof(T);
    std::vector<T> values(count * call.n);
    cases++;
    for (int r = 0; r < call.n; r++) {
        CHECK(cudaSetDevice(ranks[r].gpu));
        for (size_t i = 0; i < values.size(); i++) {
            values[i] = element<T>(r, i);
        }
        size_t bytes = call.bytes * (call.op.each_in ? call.n : 1);
        auto* in = reinterpret_cast<void*>(call.arguments(r).in);
        CHECK(cudaMemset(ranks[r].out, UNTOUCHED, BUFFER));
        CHECK(cudaMemcpy(in, values.data(), bytes, cudaMemcpyHostToDevice));
        CHECK(cudaDeviceSynchronize());
    }
    for (int r = 0; r < call.n; r++) {
        CHECK(cudaSetDevice(ranks[r].gpu));
        kernel<<<LANES, jccl::LANE_THREADS, 0, ranks[r].stream>>>(call.arguments(r));
        CHECK(cudaGetLastError());
    }
    for (int r = 0; r < call.n; r++) {
        CHECK(cudaStreamSynchronize(ranks[r].stream));
    }
    int parts = call.op.each_out ? call.n : 1;
    std::vector<unsigned char> behind(BEHIND);
    for (int r = 0; r < call.n; r++) {
        if (!call.receives(r)) {
            continue;
        }
        auto* out = reinterpret_cast<void*>(call.arguments(r).out);
        CHECK(cudaMemcpy(values.data(), out, call.bytes * parts, cudaMemcpyDeviceToHost));
        /* In place, what lies behind the output may be input. */
        size_t end = call.bytes * parts;
        size_t rest = call.in_place ? 0 : std::min(BEHIND, BUFFER - call.offset - end);
        CHECK(
            cudaMemcpy(behind.data(), static_cast<char*>(out) + end, rest, cudaMemcpyDeviceToHost));
        for (size_t i = 0; i < rest; i++) {
            if (behind[i] != UNTOUCHED) {
                std::printf(
                    "%s of %d ranks, %zu bytes from %zu on: rank %d wrote behind its output\n",
                    call.op.name, call.n, call.bytes, call.offset, r);
                wrong++;
                break;
            }
        }
        for (size_t i = 0; i < count * parts; i++) {
            T want = expected<T>(call, r, int(i / count), i % count, count);
            if (std::memcmp(&values[i], &want, sizeof(T)) != 0) {
                std::printf(
                    "%s of %d ranks, %zu bytes from %zu on%s: rank %d has %g at %zu, not %g\n",
                    call.op.name, call.n, call.bytes, call.offset,
                    call.in_place ? ", in place" : "", r, double(values[i]), i, double(want));
                wrong++;
                break;
            }
        }
    }
}

template <typename T>
void run_all(int n, Kernel fold, unsigned divisor) {
    /* Of the last count a lane has several pieces. */
    for (size_t count : {size_t(1), size_t(100), size_t(300'007), MOST_COUNT}) {
        for (const Operation& op : OPERATIONS) {
            for (size_t offset : {size_t(0), sizeof(T)}) {
                for (bool in_place : {false, true}) {
                    Call call = {op,     n,        int(count % n),          count * sizeof(T),
                                 offset, in_place, op.reduces ? divisor : 0};
                    run<T>(call, op.reduces ? fold : jccl_copy_long);
                }
            }
        }
    }
}

void prepare() {
    int gpus;
    CHECK(cudaGetDeviceCount(&gpus));
    CHECK(cudaMallocHost(&stop, sizeof(*stop)));
    *stop = 0;
    for (int r = 0; r < MOST; r++) {
        Rank& rank = ranks[r];
        rank.gpu = r % gpus;
        CHECK(cudaSetDevice(rank.gpu));
        for (int other = 0; r < gpus && other < gpus; other++) {
            if (other != rank.gpu) {
                CHECK(cudaDeviceEnablePeerAccess(other, 0));
            }
        }
        CHECK(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking));
        CHECK(cudaMalloc(&rank.memory, MEMORY));
        CHECK(cudaMalloc(&rank.in, BUFFER));
        CHECK(cudaMalloc(&rank.out, BUFFER));
    }
}

}  // namespace

int main() {
    prepare();
    for (int n = 2; n <= MOST; n++) {
        for (int r = 0; r < MOST; r++) {
            CHECK(cudaSetDevice(ranks[r].gpu));
            CHECK(cudaMemset(ranks[r].memory, 0, MEMORY));
            CHECK(cudaDeviceSynchronize());
        }
        run_all<float>(n, jccl_fold_7_0_long, 0);
        run_all<double>(n, jccl_fold_8_0_long, 0);
        run_all<int32_t>(n, jccl_fold_2_0_long, n);
        run_all<uint8_t>(n, jccl_fold_1_0_long, 0);
    }
    std::printf("%d cases of 2 to %d ranks, %d wrong\n", cases, MOST, wrong);
    return wrong == 0 ? 0 : 1;
}
