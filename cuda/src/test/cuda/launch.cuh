/*
 * How kernels of exchange.cu are launched.
 */
#pragma once

#include "calls.cuh"

namespace {

struct Kernels {
    Kernel small;
    Kernel large;
};

constexpr Kernels COPY = {jccl_copy_small, jccl_copy_large};

/*
 * As org.jccl.cuda.Kernels has it, with at most so many blocks, as NCCL_MAX_CTAS may allow; and as
 * JCCL launches it, so that a kernel begins while the one before still runs.
 */
void launch(Arguments a, bool folds, const Kernels& kernels, bool large, unsigned most,
            cudaStream_t stream) {
    unsigned threads = large ? 512 : 256;
    unsigned sets = threads / 32 / (folds ? 1 : a.ranks);
    size_t lines = (a.bytes + jccl::LINE_DATA_BYTES - 1) / jccl::LINE_DATA_BYTES;
    size_t at_once = sets * jccl::WARP_LINES;
    size_t blocks = (std::min(lines, size_t(a.slot_lines)) + at_once - 1) / at_once;
    cudaLaunchAttribute overlap = {};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(unsigned(std::min(blocks, size_t(most))));
    config.blockDim = dim3(threads);
    config.stream = stream;
    config.attrs = &overlap;
    config.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&config, large ? kernels.large : kernels.small, a));
}

}  // namespace
