/*
 * Runs the kernels of exchange.cu for 2 to 4 ranks, which share the GPUs that there are, and
 * compares each result with what the host computes: every collective, in place and out of place, at
 * even and odd addresses and lengths, by small and large kernels, of one epoch and of several,
 * which follow each other with no pause and with different numbers of blocks.
 *
 * nvcc -std=c++17 -O3 --fmad=false -arch=sm_90 -I cuda/src/main/cuda -o lines_test \
 *     cuda/src/test/cuda/lines_test.cu && ./lines_test
 */
#include "exchange.cu"

#include "calls.cuh"

namespace {

/* So few that some calls take several epochs. */
constexpr uint32_t SLOT_LINES = 300;
constexpr size_t MEMORY = jccl::SLOTS + 2 * MOST * SLOT_LINES * jccl::LINE_BYTES;

struct Kernels {
    Kernel small;
    Kernel large;
};

constexpr Kernels COPY = {jccl_copy_small, jccl_copy_large};

/* As org.jccl.cuda.Kernels has it. */
void launch(const Call& call, Arguments a, const Kernels& kernels, bool large,
            cudaStream_t stream) {
    a.slot_lines = SLOT_LINES;
    unsigned threads = large ? 512 : 256;
    unsigned sets = threads / 32 / (call.op.reduces ? 1 : call.n);
    size_t lines = (call.bytes + jccl::LINE_DATA_BYTES - 1) / jccl::LINE_DATA_BYTES;
    size_t at_once = sets * jccl::WARP_LINES;
    size_t blocks = (std::min(lines, size_t(SLOT_LINES)) + at_once - 1) / at_once;
    /* As few blocks as NCCL_MAX_CTAS may allow, too, so that a warp has several lines. */
    unsigned most = call.bytes % 3 == 0 ? 2 : jccl::MOST_BLOCKS;
    (large ? kernels.large
           : kernels.small)<<<unsigned(std::min(blocks, size_t(most))), threads, 0, stream>>>(a);
}

template <typename T>
void run_all(int n, const Kernels& fold, unsigned divisor) {
    for (const Operation& op : OPERATIONS) {
        if (op.relayed) {
            continue;
        }
        for (size_t misplaced : {size_t(0), sizeof(T)}) {
            for (bool in_place : {false, true}) {
                std::vector<Call> calls;
                size_t offset = misplaced;
                for (size_t count : {1, 14, 1'000, 15, 30'003, 100, 2'999, 30'003, 30'003, 1}) {
                    int root = int(calls.size()) % n;
                    calls.push_back({op, n, root, count * sizeof(T), offset, in_place,
                                     op.reduces ? divisor : 0});
                    offset += (n + 1) * count * sizeof(T) + 2 * BEHIND;
                    offset = offset / 16 * 16 + misplaced;
                }
                for (bool large : {false, true}) {
                    run<T>(calls, [&](const Call& call, const Arguments& a, cudaStream_t stream) {
                        launch(call, a, op.reduces ? fold : COPY, large, stream);
                    });
                }
            }
        }
    }
}

}  // namespace

int main() {
    prepare(MEMORY);
    for (int n = 2; n <= MOST; n++) {
        clear(MEMORY);
        run_all<float>(n, {jccl_fold_7_0_small, jccl_fold_7_0_large}, 0);
        run_all<double>(n, {jccl_fold_8_0_small, jccl_fold_8_0_large}, 0);
        run_all<int32_t>(n, {jccl_fold_2_0_small, jccl_fold_2_0_large}, n);
        run_all<uint8_t>(n, {jccl_fold_1_0_small, jccl_fold_1_0_large}, 0);
    }
    return report();
}
