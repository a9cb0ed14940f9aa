/*
 * Copies within the memory of a GPU, where the driver's own cost more: it takes the host almost
 * twice as long to give a stream one of its copies as to launch this kernel, and in a graph large
 * copies of the driver take half as long again as outside of one.
 */
#include <cstdint>

#include "lines.cuh"
#include "pieces.cuh"

namespace jccl {

struct Copy {
    uint64_t to;
    uint64_t from;
    uint64_t bytes;
};

/* As in CopyKernel.java. */
constexpr uint32_t THREADS = 512;
constexpr uint32_t COPIES_AT_ONCE = 4;
constexpr uint64_t BLOCK_BYTES = THREADS * WORDS_BYTES * COPIES_AT_ONCE;

}  // namespace jccl

/* Each block has its share of the bytes, a part after each round of all blocks. */
extern "C" __global__ void __launch_bounds__(jccl::THREADS)
    jccl_copy_bytes(const __grid_constant__ jccl::Copy copy) {
    uint64_t step = gridDim.x * jccl::BLOCK_BYTES;
    for (uint64_t at = blockIdx.x * jccl::BLOCK_BYTES; at < copy.bytes; at += step) {
        uint64_t left = copy.bytes - at;
        jccl::copy<jccl::COPIES_AT_ONCE>(copy.to + at, copy.from + at,
                                         left < jccl::BLOCK_BYTES ? left : jccl::BLOCK_BYTES,
                                         threadIdx.x, jccl::THREADS);
    }
}
