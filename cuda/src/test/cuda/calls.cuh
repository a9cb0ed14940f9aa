/*
 * Calls of the kernels of collectives by 2 to 8 ranks, which share the GPUs that there are: what
 * they are told, and what the host expects of them. JCCL itself gives each rank a GPU of its own.
 */
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

#include "arguments.cuh"

namespace {

using jccl::Arguments;
using Kernel = void (*)(Arguments);

constexpr int MOST = 8;
constexpr int UNTOUCHED = 0xee;
/* How many bytes behind an output have to stay as they are. */
constexpr size_t BEHIND = 256;
constexpr size_t BUFFER = size_t(68) << 20;

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
void fill(const Call& call) {
    size_t count = call.bytes / sizeof(T);
    std::vector<T> values(count * (call.op.each_in ? call.n : 1));
    for (int r = 0; r < call.n; r++) {
        for (size_t i = 0; i < values.size(); i++) {
            values[i] = element<T>(r, i);
        }
        auto* in = reinterpret_cast<void*>(call.arguments(r).in);
        CHECK(cudaSetDevice(ranks[r].gpu));
        CHECK(cudaMemcpy(in, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    }
}

/* A rank that gets nothing keeps what it has. */
void untouched(const Call& call, int r) {
    size_t size = call.bytes * (call.op.each_out ? call.n : 1);
    size_t bytes = call.in_place ? 0 : size;
    std::vector<unsigned char> kept(bytes);
    CHECK(cudaSetDevice(ranks[r].gpu));
    CHECK(cudaMemcpy(kept.data(), ranks[r].out + call.offset, bytes, cudaMemcpyDeviceToHost));
    if (std::count(kept.begin(), kept.end(), UNTOUCHED) != int64_t(bytes)) {
        std::printf("%s of %d ranks, %zu bytes from %zu on: rank %d wrote what it was not to\n",
                    call.op.name, call.n, call.bytes, call.offset, r);
        wrong++;
    }
}

/* Counts and tells a call whose results are not what they are to be. */
template <typename T>
void compare(const Call& call) {
    size_t count = call.bytes / sizeof(T);
    size_t parts = call.op.each_out ? call.n : 1;
    std::vector<T> values(count * parts);
    std::vector<unsigned char> behind(BEHIND);
    cases++;
    for (int r = 0; r < call.n; r++) {
        if (!call.receives(r)) {
            untouched(call, r);
            continue;
        }
        auto* out = reinterpret_cast<char*>(call.arguments(r).out);
        CHECK(cudaSetDevice(ranks[r].gpu));
        CHECK(cudaMemcpy(values.data(), out, call.bytes * parts, cudaMemcpyDeviceToHost));
        /* In place, what lies behind the output may be input. */
        size_t end = call.bytes * parts;
        size_t rest = call.in_place ? 0 : std::min(BEHIND, BUFFER - call.offset - end);
        CHECK(cudaMemcpy(behind.data(), out + end, rest, cudaMemcpyDeviceToHost));
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

/* Calls that follow each other in a stream; `launch` gives a rank's stream its kernel of one. */
template <typename T, typename Launch>
void run(const std::vector<Call>& calls, Launch&& launch) {
    int n = calls.front().n;
    for (int r = 0; r < n; r++) {
        CHECK(cudaSetDevice(ranks[r].gpu));
        CHECK(cudaMemset(ranks[r].out, UNTOUCHED, BUFFER));
    }
    for (const Call& call : calls) {
        fill<T>(call);
    }
    for (int r = 0; r < n; r++) {
        CHECK(cudaSetDevice(ranks[r].gpu));
        CHECK(cudaDeviceSynchronize());
    }
    for (int r = 0; r < n; r++) {
        CHECK(cudaSetDevice(ranks[r].gpu));
        for (const Call& call : calls) {
            launch(call, call.arguments(r), ranks[r].stream);
            CHECK(cudaGetLastError());
        }
    }
    for (int r = 0; r < n; r++) {
        CHECK(cudaSetDevice(ranks[r].gpu));
        CHECK(cudaStreamSynchronize(ranks[r].stream));
    }
    for (const Call& call : calls) {
        compare<T>(call);
    }
}

/* Gives each rank so many bytes of memory for its kernels; how many GPUs there are. */
int prepare(size_t memory) {
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
        CHECK(cudaMalloc(&rank.memory, memory));
        CHECK(cudaMalloc(&rank.in, BUFFER));
        CHECK(cudaMalloc(&rank.out, BUFFER));
    }
    return std::min(gpus, MOST);
}

/* What kernels for another number of ranks have left there is no longer valid. */
void clear(size_t memory) {
    for (Rank& rank : ranks) {
        CHECK(cudaSetDevice(rank.gpu));
        CHECK(cudaMemset(rank.memory, 0, memory));
        CHECK(cudaDeviceSynchronize());
    }
}

/* The numbers of ranks of the calls. */
struct Numbers {
    int first;
    int last;
};

/* All from 2 to the most, or those that the arguments name: the first and the last. */
Numbers numbers(int argc, char** argv, int most) {
    Numbers asked = {argc > 1 ? std::atoi(argv[1]) : 2, argc > 2 ? std::atoi(argv[2]) : most};
    if (argc > 3 || asked.first < 2 || asked.last < asked.first || asked.last > most) {
        std::fprintf(stderr, "usage: %s [FIRST [LAST]], numbers of ranks from 2 to %d\n", argv[0],
                     most);
        std::exit(2);
    }
    return asked;
}

int report(Numbers asked) {
    std::printf("%d cases of %d to %d ranks, %d wrong\n", cases, asked.first, asked.last, wrong);
    return wrong == 0 ? 0 : 1;
}

}  // namespace
