/*
 * Times the kernels of exchange.cu alone, in graphs of 20, with a GPU and a thread for each rank:
 * what a call of up to some MiB takes without a host. Prints µs for each collective of float32 and
 * each number of bytes, which are those of a part times the ranks if ranks have several parts.
 *
 * nvcc -std=c++20 -O3 --fmad=false -arch=sm_90 -I cuda/src/main/cuda -o lines_time \
 *     cuda/src/test/cuda/lines_time.cu && ./lines_time 512 4096 262144
 */
#include "folds.cuh"
/* One fold is enough, and is compiled faster. */
#undef JCCL_FOLDS
#define JCCL_FOLDS(FOLD) FOLD(7, 0, jccl::Float, jccl::Sum)
#include "exchange.cu"

#include "launch.cuh"

#include <barrier>
#include <chrono>
#include <thread>

namespace {

constexpr int KERNELS = 20;
constexpr int RUNS = 100;
/* The best counts, and the first one warms up. */
constexpr int TIMES = 4;
constexpr size_t SLOTS_BYTES = 24 << 20;
constexpr size_t MEMORY = jccl::SLOTS + SLOTS_BYTES;
constexpr Kernels SUM = {jccl_fold_7_0_small, jccl_fold_7_0_large};

/* As org.jccl.cuda.Kernels has it. */
constexpr size_t LARGE = 512 << 10;
constexpr unsigned MOST_BLOCKS = 64;

/* Calls that follow each other use buffers that do so, too, as nccl-tests has it. */
cudaGraphExec_t graph_of(const Operation& op, int n, int r, size_t bytes) {
    Rank& rank = ranks[r];
    size_t span = bytes * (op.each_in || op.each_out ? n : 1);
    cudaGraph_t graph;
    cudaGraphExec_t runs;
    CHECK(cudaSetDevice(rank.gpu));
    CHECK(cudaStreamBeginCapture(rank.stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < KERNELS; i++) {
        Call call = {op, n, 0, bytes, i % (BUFFER / span) * span, false, 0};
        Arguments a = call.arguments(r);
        a.slot_lines = uint32_t(SLOTS_BYTES / (2 * n) / jccl::LINE_BYTES);
        launch(a, op.reduces, op.reduces ? SUM : COPY, bytes * n > LARGE, MOST_BLOCKS, rank.stream);
    }
    CHECK(cudaStreamEndCapture(rank.stream, &graph));
    CHECK(cudaGraphInstantiate(&runs, graph, 0));
    CHECK(cudaGraphUpload(runs, rank.stream));
    CHECK(cudaStreamSynchronize(rank.stream));
    CHECK(cudaGraphDestroy(graph));
    return runs;
}

/* What the slowest rank takes for a call. */
double microseconds(const Operation& op, int n, size_t bytes) {
    std::vector<cudaGraphExec_t> graphs;
    for (int r = 0; r < n; r++) {
        graphs.push_back(graph_of(op, n, r, bytes));
    }
    std::barrier together(n);
    std::vector<std::vector<double>> took(TIMES, std::vector<double>(n));
    std::vector<std::thread> threads;
    for (int r = 0; r < n; r++) {
        threads.emplace_back([&, r] {
            CHECK(cudaSetDevice(ranks[r].gpu));
            for (int time = 0; time < TIMES; time++) {
                together.arrive_and_wait();
                auto begin = std::chrono::steady_clock::now();
                for (int i = 0; i < RUNS; i++) {
                    CHECK(cudaGraphLaunch(graphs[r], ranks[r].stream));
                }
                CHECK(cudaStreamSynchronize(ranks[r].stream));
                std::chrono::duration<double, std::micro> all =
                    std::chrono::steady_clock::now() - begin;
                took[time][r] = all.count() / RUNS / KERNELS;
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    double best = 1e9;
    for (int time = 1; time < TIMES; time++) {
        best = std::min(best, *std::max_element(took[time].begin(), took[time].end()));
    }
    for (cudaGraphExec_t graph : graphs) {
        CHECK(cudaGraphExecDestroy(graph));
    }
    return best;
}

}  // namespace

int main(int count, char** sizes) {
    int n = prepare(MEMORY);
    if (n < 2 || count < 2) {
        std::printf("usage: lines_time BYTES..., with at least two GPUs\n");
        return 2;
    }
    clear(MEMORY);
    for (const Operation& op : OPERATIONS) {
        for (int i = 1; !op.relayed && i < count; i++) {
            size_t all = std::strtoull(sizes[i], nullptr, 10);
            size_t bytes = std::max(size_t(4), all / (op.each_in || op.each_out ? n : 1) / 4 * 4);
            if (bytes * n > BUFFER) {
                std::printf("%zu bytes are too many\n", all);
                return 2;
            }
            std::printf("%-16s %9zu %9.2f\n", op.name, all, microseconds(op, n, bytes));
        }
    }
    return 0;
}
