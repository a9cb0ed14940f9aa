// A C++ program that includes CUDA's runtime header on either side of ours. The test has no CUDA;
// these are the two declarations of it that nccl.h repeats.
#ifdef CUDA_FIRST
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
#endif
#include <nccl.h>
#include <nccl_device.h>
#ifndef CUDA_FIRST
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
#endif

int main() {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    cudaStream_t stream = nullptr;
    int version = 0;
    return config.size == 120 && stream == nullptr && ncclGetVersion(&version) == ncclSuccess &&
                   version == NCCL_VERSION_CODE
               ? 0
               : 1;
}
