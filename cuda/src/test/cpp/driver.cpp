/*
 * A CUDA driver without GPUs, for tests of all that the host does: as many GPUs as
 * SOFTWARE_GPUS says, whose memory is that of the process, and whose streams are threads. JCCL's
 * kernels do what they are for by other means: the ranks of a collective, threads of one process,
 * meet and read each other's inputs; messages go through queues. They are told what real kernels
 * are told, so what the host says of a call is tested, and not how kernels go about it. There are
 * the functions that JCCL calls and no others; reductions are sums of float32 and int32.
 */
#include <sys/mman.h>

#include <vector>

#include "kernels.h"
#include "streams.h"

namespace {

enum Result { SUCCESS = 0, INVALID_VALUE = 1, NOT_FOUND = 500, NOT_SUPPORTED = 801 };

constexpr int MOST_GPUS = 8;
constexpr int DEVICE_MEMORY = 2;

Context contexts[MOST_GPUS] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};
thread_local std::vector<Context*> current;

int gpus() {
    const char* said = std::getenv("SOFTWARE_GPUS");
    return said == nullptr ? 2 : std::min(MOST_GPUS, std::atoi(said));
}

Stream* stream_of(void* handle) {
    static Stream* defaults[MOST_GPUS];
    static std::mutex mutex;
    if (reinterpret_cast<uintptr_t>(handle) > 2) {
        return static_cast<Stream*>(handle);
    }
    std::lock_guard<std::mutex> lock(mutex);
    Stream*& known = defaults[current.back()->device];
    if (known == nullptr) {
        known = new Stream(current.back());
    }
    return known;
}

struct Allocation {
    uint64_t bytes;
    int device;
};

std::map<uint64_t, Allocation> allocations;
std::mutex allocations_mutex;

/* CUlaunchConfig, as far as it is looked at. */
struct Config {
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t shared_bytes;
    void* stream;
};

/* A kernel's argument, of which the launch may have only the first bytes. */
template <typename T>
std::shared_ptr<T> argument(void** extra) {
    auto copy = std::make_shared<T>();
    std::memset(copy.get(), 0xff, sizeof(T));
    std::memcpy(copy.get(), extra[1], std::min(sizeof(T), *static_cast<size_t*>(extra[3])));
    return copy;
}

}  // namespace

#define DRIVER extern "C" __attribute__((visibility("default"))) int

DRIVER cuInit(unsigned) {
    return SUCCESS;
}

DRIVER cuGetErrorName(int, const char** name) {
    *name = "CUDA_ERROR";
    return SUCCESS;
}

DRIVER cuGetErrorString(int result, const char** text) {
    *text = result == NOT_SUPPORTED ? "software GPUs do not have this" : "refused";
    return SUCCESS;
}

DRIVER cuDriverGetVersion(int* version) {
    *version = 13000;
    return SUCCESS;
}

DRIVER cuDeviceGetCount(int* count) {
    *count = gpus();
    return SUCCESS;
}

DRIVER cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return ordinal < gpus() ? SUCCESS : INVALID_VALUE;
}

DRIVER cuDeviceGetAttribute(int* value, int, int) {
    *value = 1;
    return SUCCESS;
}

DRIVER cuDeviceGetP2PAttribute(int* value, int, int, int) {
    *value = 1;
    return SUCCESS;
}

DRIVER cuDeviceGetUuid_v2(char* uuid, int device) {
    std::memset(uuid, device + 1, 16);
    return SUCCESS;
}

DRIVER cuDevicePrimaryCtxRetain(void** context, int device) {
    *context = &contexts[device];
    return SUCCESS;
}

DRIVER cuCtxGetCurrent(void** context) {
    *context = current.empty() ? nullptr : current.back();
    return SUCCESS;
}

DRIVER cuCtxGetDevice(int* device) {
    *device = current.empty() ? 0 : current.back()->device;
    return SUCCESS;
}

DRIVER cuCtxPushCurrent_v2(void* context) {
    current.push_back(static_cast<Context*>(context));
    return SUCCESS;
}

DRIVER cuCtxPopCurrent_v2(void** context) {
    *context = current.back();
    current.pop_back();
    return SUCCESS;
}

DRIVER cuCtxEnablePeerAccess(void*, unsigned) {
    return SUCCESS;
}

DRIVER cuEventCreate(void** event, unsigned) {
    static int only;
    *event = &only;
    return SUCCESS;
}

DRIVER cuEventQuery(void*) {
    return SUCCESS;
}

DRIVER cuStreamCreate(void** stream, unsigned) {
    *stream = new Stream(current.back());
    return SUCCESS;
}

DRIVER cuStreamDestroy_v2(void* stream) {
    stream_of(stream)->end();
    return SUCCESS;
}

DRIVER cuStreamSynchronize(void* stream) {
    stream_of(stream)->synchronize();
    return SUCCESS;
}

DRIVER cuStreamGetCtx(void* stream, void** context) {
    *context = stream_of(stream)->context;
    return SUCCESS;
}

DRIVER cuStreamIsCapturing(void*, int* status) {
    *status = 0;
    return SUCCESS;
}

DRIVER cuThreadExchangeStreamCaptureMode(int*) {
    return SUCCESS;
}

DRIVER cuMemAlloc_v2(uint64_t* address, size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return INVALID_VALUE;
    }
    *address = reinterpret_cast<uint64_t>(memory);
    std::lock_guard<std::mutex> lock(allocations_mutex);
    allocations[*address] = {bytes, current.back()->device};
    return SUCCESS;
}

DRIVER cuMemFree_v2(uint64_t address) {
    std::lock_guard<std::mutex> lock(allocations_mutex);
    auto found = allocations.find(address);
    if (found == allocations.end()) {
        return INVALID_VALUE;
    }
    munmap(at(address), found->second.bytes);
    allocations.erase(found);
    return SUCCESS;
}

DRIVER cuMemHostAlloc(void** address, size_t bytes, unsigned) {
    *address = std::calloc(1, bytes);
    return SUCCESS;
}

DRIVER cuMemFreeHost(void* address) {
    std::free(address);
    return SUCCESS;
}

DRIVER cuPointerGetAttributes(unsigned, const int*, void** values, uint64_t address) {
    std::lock_guard<std::mutex> lock(allocations_mutex);
    auto after = allocations.upper_bound(address);
    *static_cast<int*>(values[0]) = 0;
    if (after == allocations.begin()) {
        return SUCCESS;
    }
    const auto& [begin, found] = *std::prev(after);
    if (address < begin + found.bytes) {
        *static_cast<int*>(values[0]) = DEVICE_MEMORY;
        *static_cast<int*>(values[1]) = found.device;
        *static_cast<uint64_t*>(values[2]) = begin;
        *static_cast<uint64_t*>(values[3]) = found.bytes;
    }
    return SUCCESS;
}

DRIVER cuIpcGetMemHandle(char* handle, uint64_t) {
    std::memset(handle, 0, 64);
    return SUCCESS;
}

DRIVER cuIpcOpenMemHandle_v2(uint64_t*, const char*, unsigned) {
    return NOT_SUPPORTED;
}

DRIVER cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, void* stream) {
    stream_of(stream)->give([=] { std::memcpy(at(to), at(from), bytes); });
    return SUCCESS;
}

DRIVER cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void* stream) {
    stream_of(stream)->give([=] { std::memset(at(to), value, bytes); });
    return SUCCESS;
}

DRIVER cuMemsetD32Async(uint64_t to, unsigned value, size_t words, void* stream) {
    stream_of(stream)->give([=] { std::fill_n(reinterpret_cast<unsigned*>(to), words, value); });
    return SUCCESS;
}

DRIVER cuStreamWriteValue64_v2(void* stream, uint64_t address, uint64_t value, unsigned) {
    stream_of(stream)->give([=] { store(address, value); });
    return SUCCESS;
}

DRIVER cuStreamWaitValue64_v2(void* stream, uint64_t address, uint64_t value, unsigned) {
    stream_of(stream)->give([=] {
        while (int64_t(load(address) - value) < 0) {
            std::this_thread::sleep_for(POLL);
        }
    });
    return SUCCESS;
}

DRIVER cuModuleLoadData(void** module, const void*) {
    static int only;
    *module = &only;
    return SUCCESS;
}

DRIVER cuModuleGetFunction(void** function, void*, const char* name) {
    auto kernel = std::make_unique<Kernel>();
    kernel->name = name;
    int fold;
    if (std::sscanf(name, "jccl_fold_%d_%d_", &kernel->type, &fold) == 2) {
        kernel->supported = (kernel->type == 2 || kernel->type == 7) && fold == 0;
    } else if (kernel->name.rfind("jccl_copy_", 0) != 0 && kernel->name != "jccl_transfers") {
        return NOT_FOUND;
    }
    *function = kernel.release();
    return SUCCESS;
}

DRIVER cuFuncLoad(void*) {
    return SUCCESS;
}

DRIVER cuLaunchKernelEx(const Config* config, void* function, void**, void** extra) {
    const auto* kernel = static_cast<const Kernel*>(function);
    if (!kernel->supported) {
        return NOT_SUPPORTED;
    }
    Stream* stream = stream_of(config->stream);
    if (kernel->name == "jccl_transfers") {
        auto a = argument<Transfers>(extra);
        stream->give([=] { run(*a); });
    } else {
        auto a = argument<Arguments>(extra);
        stream->give([=] { run(*kernel, *a); });
    }
    return SUCCESS;
}
