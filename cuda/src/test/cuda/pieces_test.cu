/*
 * Runs the kernels of pieces.cu for 2 to 4 ranks, which share the GPUs that there are, and compares
 * each result with what the host computes: every collective, in place and out of place, at even and
 * odd addresses and lengths.
 *
 * nvcc -std=c++17 -O3 --fmad=false -arch=sm_90 -I cuda/src/main/cuda -o pieces_test \
 *     cuda/src/test/cuda/pieces_test.cu && ./pieces_test [FIRST [LAST]]
 *
 * FIRST and LAST are numbers of ranks, if not all are to be tried, as under compute-sanitizer.
 */
#include "pieces.cu"

#include <vector>

#include "calls.cuh"

namespace {

constexpr unsigned LANES = 256;
constexpr unsigned FEW_LANES = 4;
constexpr size_t MEMORY = jccl::RINGS + jccl::RINGS_BYTES;
constexpr size_t MOST_COUNT = 2'000'003;
constexpr int MOST_RANKS = 4;
static_assert(MOST_RANKS * MOST_COUNT * 8 + 64 <= BUFFER);

/* Of the last count a lane has several pieces; if there are few lanes, they are long. */
template <typename T>
void run_all(int n, Kernel fold, unsigned divisor, unsigned lanes, std::vector<size_t> counts) {
    for (size_t count : counts) {
        for (const Operation& op : OPERATIONS) {
            for (size_t offset : {size_t(0), sizeof(T)}) {
                for (bool in_place : {false, true}) {
                    Call call = {op,     n,        int(count % n),          count * sizeof(T),
                                 offset, in_place, op.reduces ? divisor : 0};
                    Kernel kernel = op.reduces ? fold : jccl_copy_long;
                    run<T>({call}, [&](const Call&, const Arguments& a, cudaStream_t stream) {
                        kernel<<<lanes, jccl::LANE_THREADS, 0, stream>>>(a);
                    });
                }
            }
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    Numbers asked = numbers(argc, argv, MOST_RANKS);
    prepare(MEMORY);
    const std::vector<size_t> counts = {1, 100, 300'007, MOST_COUNT};
    for (int n = asked.first; n <= asked.last; n++) {
        clear(MEMORY);
        run_all<float>(n, jccl_fold_7_0_long, 0, LANES, counts);
        run_all<double>(n, jccl_fold_8_0_long, 0, LANES, counts);
        run_all<int32_t>(n, jccl_fold_2_0_long, n, LANES, counts);
        run_all<uint8_t>(n, jccl_fold_1_0_long, 0, LANES, counts);
        clear(MEMORY);
        run_all<double>(n, jccl_fold_8_0_long, 0, FEW_LANES, {MOST_COUNT});
    }
    return report(asked);
}
