/*
 * Words that ranks write into each other's memory: single words, and lines of 128 bytes that carry
 * 120 bytes of data and, in their last word, the number of the epoch. Eight neighbouring threads
 * write or read a line together, 16 bytes each, in one instruction of their warp; GPUs
 * and NVLink move such a line as a whole, so data that comes with the right number is complete.
 */
#pragma once

#include <cstdint>

namespace jccl {

constexpr uint32_t LINE_BYTES = 128;
constexpr uint32_t LINE_DATA_BYTES = 120;
constexpr uint32_t LINE_THREADS = 8;
constexpr uint32_t WARP_LINES = 32 / LINE_THREADS;
constexpr uint32_t ALL_LANES = 0xffffffff;

/* How often a thread polls before it looks whether it is to stop, which takes a microsecond. */
constexpr uint32_t POLLS = 1024;

struct Words {
    uint64_t first;
    uint64_t second;
};

__device__ inline uint64_t load(uint64_t address) {
    uint64_t value;
    asm volatile("ld.volatile.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
    return value;
}

__device__ inline void store(uint64_t address, uint64_t value) {
    asm volatile("st.volatile.global.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}

__device__ inline Words load_pair(uint64_t address) {
    Words words;
    asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(words.first), "=l"(words.second)
                 : "l"(address)
                 : "memory");
    return words;
}

__device__ inline void store_pair(uint64_t address, Words words) {
    asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(address), "l"(words.first),
                 "l"(words.second)
                 : "memory");
}

__device__ inline uint64_t load_acquire(uint64_t address) {
    uint64_t value;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
    return value;
}

/* After everything that the threads of the warp have stored before they came together. */
__device__ inline void store_release(uint64_t address, uint64_t value) {
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}

/* 16 bytes of a buffer of the caller's, at a multiple of 16. */
__device__ inline Words load_whole(uint64_t address) {
    auto both = *reinterpret_cast<const ulonglong2*>(address);
    return {both.x, both.y};
}

__device__ inline void store_whole(uint64_t address, Words words) {
    *reinterpret_cast<ulonglong2*>(address) = make_ulonglong2(words.first, words.second);
}

/* The threads of a line go on together: what they write or read then is one access. */
__device__ inline void converge_line() {
    __syncwarp(0xffu << (threadIdx.x % 32 & ~(LINE_THREADS - 1)));
}

/* Waits until a word has come to a value; false if the host says stop. */
__device__ inline bool await(uint64_t address, uint64_t value, uint64_t stop) {
    for (uint32_t polls = 1; load(address) < value; polls++) {
        if (polls % POLLS == 0 && load(stop) != 0) {
            return false;
        }
    }
    return true;
}

/*
 * Waits for N lines; all threads of a warp call it together. `wanted` is how many of this thread's
 * lines will come. False, for all, if the host says stop.
 *
 * step: from one line's address to the next one's
 */
template <uint32_t N>
__device__ inline bool await_lines(uint64_t address, uint64_t step, uint32_t wanted,
                                   uint64_t epoch, uint64_t stop, Words* words) {
    bool last = threadIdx.x % LINE_THREADS == LINE_THREADS - 1;
    for (uint32_t polls = 1;; polls++) {
        bool lacks = false;
        __syncwarp();
#pragma unroll
        for (uint32_t k = 0; k < N; k++) {
            if (k < wanted) {
                words[k] = load_pair(address + k * step);
                lacks |= words[k].second != epoch;
            }
        }
        if (!__any_sync(ALL_LANES, last && lacks)) {
            return true;
        }
        if (polls % POLLS == 0 && __any_sync(ALL_LANES, load(stop) != 0)) {
            return false;
        }
    }
}

/* Fewer than 8 bytes, or at an odd address: at the end of a part, and in views of buffers. */
__device__ __noinline__ uint64_t load_few(uint64_t address, int64_t bytes) {
    uint64_t word = 0;
    for (int i = 0; i < 8 && i < bytes; i++) {
        word |= uint64_t(*reinterpret_cast<const uint8_t*>(address + i)) << (8 * i);
    }
    return word;
}

__device__ __noinline__ void store_few(uint64_t address, int64_t bytes, uint64_t word) {
    for (int i = 0; i < 8 && i < bytes; i++) {
        *reinterpret_cast<uint8_t*>(address + i) = uint8_t(word >> (8 * i));
    }
}

/* 8 bytes from any address; some behind `bytes` may be 0. */
__device__ inline uint64_t load_bytes(uint64_t address, int64_t bytes) {
    if (bytes >= 8 && address % 8 == 0) {
        return *reinterpret_cast<const uint64_t*>(address);
    }
    return bytes > 0 ? load_few(address, bytes) : 0;
}

/* The first of 8 bytes, to any address. */
__device__ inline void store_bytes(uint64_t address, int64_t bytes, uint64_t word) {
    if (bytes >= 8 && address % 8 == 0) {
        *reinterpret_cast<uint64_t*>(address) = word;
    } else if (bytes > 0) {
        store_few(address, bytes, word);
    }
}

/* 16 bytes of which `bytes` count, from any address. */
__device__ inline Words load_words(uint64_t address, int64_t bytes) {
    return {load_bytes(address, bytes), bytes > 8 ? load_bytes(address + 8, bytes - 8) : 0};
}

__device__ inline void store_words(uint64_t address, int64_t bytes, Words words) {
    store_bytes(address, bytes, words.first);
    store_bytes(address + 8, bytes - 8, words.second);
}

/*
 * Tells the host, if it wants to know, that the kernel is over. All threads come here at their end;
 * `blocks` is the address of a count of those that have come, which is 0 before and after.
 */
__device__ inline void tell_end(uint64_t blocks, uint64_t done, uint64_t use) {
    if (done == 0) {
        return;
    }
    __syncthreads();
    if (threadIdx.x != 0) {
        return;
    }
    /* Who sees the word of the host may start a kernel that reads what this one has stored. */
    __threadfence();
    auto* count = reinterpret_cast<unsigned*>(blocks);
    if (gridDim.x == 1 || atomicInc(count, gridDim.x - 1) == gridDim.x - 1) {
        store(done, use);
    }
}

}  // namespace jccl
