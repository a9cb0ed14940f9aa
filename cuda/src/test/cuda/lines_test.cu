/*
 * Runs the kernels of exchange.cu for 2 to 8 ranks, which share the GPUs that there are, and
 * compares each result with what the host computes: every collective, in place and out of place, at
 * even and odd addresses and lengths, by small and large kernels, of one epoch and of several,
 * which follow each other with no pause and with different numbers of blocks.
 *
 * nvcc -std=c++17 -O3 --fmad=false -arch=sm_90 -I cuda/src/main/cuda -o lines_test \
 *     cuda/src/test/cuda/lines_test.cu && ./lines_test [FIRST [LAST]]
 *
 * FIRST and LAST are numbers of ranks, if not all are to be tried, as under compute-sanitizer.
 */
#include "exchange.cu"

#include "launch.cuh"

namespace {

/* So few that some calls take several epochs. */
constexpr uint32_t SLOT_LINES = 300;
constexpr size_t MEMORY = jccl::SLOTS + 2 * MOST * SLOT_LINES * jccl::LINE_BYTES;

/*
 * How many blocks calls have at most, in turn. Eight ranks on one GPU fit, each with a kernel and
 * the one after it.
 */
constexpr unsigned BLOCKS[] = {1, 2, 32};

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
                for (size_t count :
                     {1, 14, 1'000, 15, 30'003, 100, 2'999, 30'003, 30'003, 30'003}) {
                    int root = int(calls.size()) % n;
                    calls.push_back({op, n, root, count * sizeof(T), offset, in_place,
                                     op.reduces ? divisor : 0});
                    offset += (n + 1) * count * sizeof(T) + 2 * BEHIND;
                    offset = offset / 16 * 16 + misplaced;
                }
                for (bool large : {false, true}) {
                    run<T>(calls, [&](const Call& call, Arguments a, cudaStream_t stream) {
                        a.slot_lines = SLOT_LINES;
                        unsigned most = BLOCKS[(&call - calls.data()) % 3];
                        launch(a, op.reduces, op.reduces ? fold : COPY, large, most, stream);
                    });
                }
            }
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    Numbers asked = numbers(argc, argv, MOST);
    prepare(MEMORY);
    for (int n = asked.first; n <= asked.last; n++) {
        clear(MEMORY);
        run_all<float>(n, {jccl_fold_7_0_small, jccl_fold_7_0_large}, 0);
        run_all<double>(n, {jccl_fold_8_0_small, jccl_fold_8_0_large}, 0);
        run_all<int32_t>(n, {jccl_fold_2_0_small, jccl_fold_2_0_large}, n);
        run_all<uint8_t>(n, {jccl_fold_1_0_small, jccl_fold_1_0_large}, 0);
    }
    return report(asked);
}
