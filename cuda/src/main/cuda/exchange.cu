/* The kernels of exchange.cuh. */
#include "exchange.cuh"
#include "folds.cuh"

/*
 * For small parts, and for others. A block waits for the other ranks' blocks and keeps
 * its place on the GPU meanwhile, so kernels of communicators that ranks come to in different
 * orders must fit side by side: with so few registers an SM holds four of the small blocks, or two
 * large.
 */
#define JCCL_KERNEL(NAME, BY_PEER, ...)                                               \
    extern "C" __global__ void __launch_bounds__(256, 4)                              \
        NAME##_small(const __grid_constant__ jccl::Arguments arguments) {             \
        jccl::Kernel<1, BY_PEER> kernel(arguments);                                   \
        kernel.run([&](uint32_t first, uint32_t end) { return kernel.__VA_ARGS__; }); \
    }                                                                                 \
    extern "C" __global__ void __launch_bounds__(512, 2)                              \
        NAME##_large(const __grid_constant__ jccl::Arguments arguments) {             \
        jccl::Kernel<2, BY_PEER> kernel(arguments);                                   \
        kernel.run([&](uint32_t first, uint32_t end) { return kernel.__VA_ARGS__; }); \
    }

#define JCCL_RELAY(NAME, ...)                                               \
    extern "C" __global__ void __launch_bounds__(256, 4)                    \
        NAME##_relayed(const __grid_constant__ jccl::Arguments arguments) { \
        jccl::Kernel<1, false, true> kernel(arguments);                     \
        kernel.run([&](uint32_t first, uint32_t) {                          \
            return first > 0 || kernel.template relay<__VA_ARGS__>();       \
        });                                                                 \
    }

#define JCCL_FOLD(NUMBER, REDUCTION, ...)                   \
    JCCL_KERNEL(jccl_fold_##NUMBER##_##REDUCTION, false,    \
                template with_all<__VA_ARGS__>(first, end)) \
    JCCL_RELAY(jccl_fold_##NUMBER##_##REDUCTION, __VA_ARGS__)

JCCL_KERNEL(jccl_copy, true, with_peer(first, end))
JCCL_FOLDS(JCCL_FOLD)
