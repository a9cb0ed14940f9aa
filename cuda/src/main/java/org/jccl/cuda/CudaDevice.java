package org.jccl.cuda;

import static jcuda.driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS;
import static jcuda.driver.CUevent_flags.CU_EVENT_DISABLE_TIMING;
import static jcuda.driver.CUipcMem_flags.CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;
import static jcuda.driver.CUresult.CUDA_ERROR_DEINITIALIZED;
import static jcuda.driver.CUresult.CUDA_ERROR_NOT_READY;
import static jcuda.driver.CUresult.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
import static jcuda.driver.CUresult.CUDA_SUCCESS;
import static jcuda.driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED;
import static jcuda.driver.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_NONE;
import static jcuda.driver.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_GEQ;
import static jcuda.driver.CUstream_flags.CU_STREAM_NON_BLOCKING;
import static jcuda.driver.JCudaDriver.CU_MEMHOSTALLOC_DEVICEMAP;
import static jcuda.driver.JCudaDriver.CU_MEMHOSTALLOC_PORTABLE;
import static jcuda.driver.JCudaDriver.cuCtxEnablePeerAccess;
import static jcuda.driver.JCudaDriver.cuDeviceGet;
import static jcuda.driver.JCudaDriver.cuDeviceGetAttribute;
import static jcuda.driver.JCudaDriver.cuDevicePrimaryCtxRetain;
import static jcuda.driver.JCudaDriver.cuEventCreate;
import static jcuda.driver.JCudaDriver.cuEventQuery;
import static jcuda.driver.JCudaDriver.cuMemAlloc;
import static jcuda.driver.JCudaDriver.cuMemFree;
import static jcuda.driver.JCudaDriver.cuMemcpyAsync;
import static jcuda.driver.JCudaDriver.cuMemsetD32Async;
import static jcuda.driver.JCudaDriver.cuMemsetD8Async;
import static jcuda.driver.JCudaDriver.cuModuleGetFunction;
import static jcuda.driver.JCudaDriver.cuStreamCreate;
import static jcuda.driver.JCudaDriver.cuStreamDestroy;
import static jcuda.driver.JCudaDriver.cuStreamSynchronize;
import static jcuda.driver.JCudaDriver.cuStreamWaitValue64;
import static jcuda.driver.JCudaDriver.cuThreadExchangeStreamCaptureMode;

import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUevent;
import jcuda.driver.CUfunction;
import jcuda.driver.CUstream;

import org.jccl.device.Device;
import org.jccl.device.DeviceCollectives;
import org.jccl.platform.ProcessIdentity;
import org.jccl.platform.ProcessMemory;
import org.jccl.platform.Threads;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntSupplier;
import java.util.function.Supplier;

/**
 * A GPU, in its primary context, which CUDA's runtime uses as well. The context is retained for as
 * long as the process lives. A call leaves the calling thread the context that it had.
 */
final class CudaDevice implements Device {
    /** The streams 0, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD belong to every device. */
    private static final long LAST_DEFAULT_STREAM = 2;

    /** CU_STREAM_PER_THREAD: for each thread another stream. */
    private static final long STREAM_OF_THREAD = 2;

    private static final long LEGACY_STREAM = 1;

    /** Nobody reads what is written here. */
    private static final MemorySegment SCRATCH = Arena.global().allocate(Long.BYTES);

    private final int ordinal;
    private final String name;
    private final CUcontext context = new CUcontext();

    /** Nobody records it: a query fails only if the context does nothing any more. */
    private final CUevent probe = new CUevent();

    private final PinnedMemory pinned = new PinnedMemory(this::pin);

    /** The stream that was looked at last, and is one of this device. Any thread. */
    private volatile long seenStream;

    private final byte[] uuid = new byte[16];

    /** Held while kernels are loaded, which may have to wait for a program's work. */
    private final Object loading = new Object();

    private volatile @Nullable Supplier<Kernels> kernels;

    /** The one that copies; 0 if there are no kernels, or none yet. */
    private volatile long copyKernel;

    /** Made when it is first needed; guarded by this. */
    private @Nullable CUstream own;

    private final Thread watcher;
    private volatile @Nullable String fault;

    CudaDevice(int ordinal) {
        this.ordinal = ordinal;
        this.name = CudaProvider.KIND + ":" + ordinal;
        CUdevice device = new CUdevice();
        require(cuDeviceGet(device, ordinal), "cuDeviceGet");
        int[] able = {0};
        int attribute = CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS;
        require(cuDeviceGetAttribute(able, attribute, device), "cuDeviceGetAttribute");
        if (able[0] == 0) {
            throw ErrorKind.DEVICE_UNKNOWN.says(
                    "there is no device \"%s\" for JCCL: its streams cannot wait for words of 64"
                            + " bits (cuStreamWaitValue64)",
                    name());
        }
        require(cuDevicePrimaryCtxRetain(context, device), "cuDevicePrimaryCtxRetain");
        run("cuEventCreate", () -> cuEventCreate(probe, CU_EVENT_DISABLE_TIMING));
        require(Native.uuid(uuid, ordinal), "cuDeviceGetUuid");
        watcher = Threads.daemon("jccl-" + name(), this::watch);
        watcher.start();
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public String kind() {
        return CudaProvider.KIND;
    }

    @Override
    public int ordinal() {
        return ordinal;
    }

    @Override
    public boolean streamsShareQueues() {
        return true;
    }

    private void require(int result, String function) {
        Driver.require(result, function, name());
    }

    /** Makes the device's context the calling thread's, until {@link #leave}. */
    void enter() {
        require(Native.push(Raw.value(context)), "cuCtxPushCurrent");
    }

    /** Gives the calling thread the context that it had. */
    void leave() {
        Native.pop();
    }

    /** Calls functions of the driver in the device's context. */
    private int inContext(IntSupplier call) {
        int result = Native.push(Raw.value(context));
        if (result != CUDA_SUCCESS) {
            return result;
        }
        try {
            return call.getAsInt();
        } finally {
            Native.pop();
        }
    }

    private void run(String function, IntSupplier call) {
        require(inContext(call), function);
    }

    /**
     * Calls a function that would end the capture of any stream which a thread of the caller has
     * begun, although it has nothing to do with that stream.
     */
    private void runBesideCaptures(String function, IntSupplier call) {
        int[] mode = {CU_STREAM_CAPTURE_MODE_RELAXED};
        require(cuThreadExchangeStreamCaptureMode(mode), "cuThreadExchangeStreamCaptureMode");
        try {
            run(function, call);
        } finally {
            cuThreadExchangeStreamCaptureMode(mode);
        }
    }

    /** Memory may consist of several allocations that follow each other, as a mapped range does. */
    @Override
    public boolean owns(long address, long bytes) {
        long end = address + bytes;
        long at = address;
        while (at < end) {
            long next = Native.endOfAllocation(at, ordinal);
            if (next <= at) {
                return false;
            }
            at = next;
        }
        return end > address;
    }

    /** A stream is the address of an object of the driver, which ends the process if it is not. */
    @Override
    public boolean isStream(long stream) {
        if (stream >= 0 && stream <= LAST_DEFAULT_STREAM) {
            return true;
        }
        if (stream == seenStream) {
            return true;
        }
        int own = ProcessIdentity.current().pid();
        if (ProcessMemory.read(own, stream, SCRATCH.address(), Long.BYTES) != Long.BYTES) {
            return false;
        }
        boolean known = Native.contextOf(stream) == Raw.value(context);
        if (known) {
            seenStream = stream;
        }
        return known;
    }

    @Override
    public boolean keepsOrder(long stream, long next) {
        return stream == next && next != STREAM_OF_THREAD;
    }

    @Override
    public long openStream() {
        CUstream stream = new CUstream();
        runBesideCaptures("cuStreamCreate", () -> cuStreamCreate(stream, CU_STREAM_NON_BLOCKING));
        return Raw.value(stream);
    }

    @Override
    public void closeStream(long stream) {
        runBesideCaptures("cuStreamDestroy", () -> cuStreamDestroy(Raw.stream(stream)));
    }

    @Override
    public long allocate(long bytes) {
        CUdeviceptr memory = new CUdeviceptr();
        runBesideCaptures("cuMemAlloc", () -> cuMemAlloc(memory, bytes));
        return Raw.value(memory);
    }

    @Override
    public void free(long address) {
        runBesideCaptures("cuMemFree", () -> cuMemFree(Raw.memory(address)));
    }

    @Override
    public long allocateHost(long bytes) {
        return pinned.take(bytes);
    }

    private long pin(long bytes) {
        long[] address = {0};
        int flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
        runBesideCaptures("cuMemHostAlloc", () -> Native.hostAlloc(address, bytes, flags));
        return address[0];
    }

    @Override
    public void freeHost(long address) {
        pinned.giveBack(address);
    }

    @Override
    public void copyOut(long hostTo, long from, long bytes, long stream) {
        copyEager(hostTo, from, bytes, stream);
    }

    @Override
    public void copyIn(long to, long hostFrom, long bytes, long stream) {
        copyEager(to, hostFrom, bytes, stream);
    }

    private void copyEager(long to, long from, long bytes, long stream) {
        requireEager(stream);
        run("cuMemcpyAsync", () -> Native.copy(to, from, bytes, stream));
    }

    @Override
    public boolean copy(long to, long from, long bytes, long stream) {
        enter();
        try {
            boolean captured = captures(stream);
            long kernel = copyKernel;
            if (kernel != 0 && CopyKernel.suits(bytes, captured)) {
                launch(kernel, CopyKernel.launch(to, from, bytes, stream));
            } else {
                require(Native.copy(to, from, bytes, stream), "cuMemcpyAsync");
            }
            return captured;
        } finally {
            leave();
        }
    }

    @Override
    public boolean isCaptured(long stream) {
        enter();
        try {
            return captures(stream);
        } finally {
            leave();
        }
    }

    /** The same, between {@link #enter} and {@link #leave}. */
    boolean captures(long stream) {
        if (stream == 0 || stream == LEGACY_STREAM) {
            // The default stream cannot be captured.
            return false;
        }
        int status = Native.captureStatus(stream);
        require(Math.max(-status, CUDA_SUCCESS), "cuStreamIsCapturing");
        return status != CU_STREAM_CAPTURE_STATUS_NONE;
    }

    /** What the host takes part in cannot be repeated by a graph. */
    private void requireEager(long stream) {
        if (isCaptured(stream)) {
            throw ErrorKind.NOT_DONE_YET.says(
                    "a call in stream 0x%s, which is being captured, is not done yet in JCCL; call"
                            + " outside of the capture; see DIFFERENCES.md",
                    Long.toHexString(stream));
        }
    }

    @Override
    public void write(long hostAddress, long value, long stream) {
        requireEager(stream);
        run("cuStreamWriteValue64", () -> Native.write(stream, hostAddress, value));
    }

    @Override
    public void await(long hostAddress, long value, long stream) {
        run(
                "cuStreamWaitValue64",
                () ->
                        cuStreamWaitValue64(
                                Raw.stream(stream),
                                Raw.memory(hostAddress),
                                value,
                                CU_STREAM_WAIT_VALUE_GEQ));
    }

    @Override
    public @Nullable DeviceCollectives collectives(int rank, int nRanks) {
        boolean possible = nRanks > 1 && nRanks <= LaunchArguments.MOST_RANKS;
        if (!possible) {
            return null;
        }
        return new CudaCollectives(this, Objects.requireNonNull(kernels).get(), rank, nRanks);
    }

    @Override
    public void prepare() {
        synchronized (loading) {
            if (kernels == null) {
                kernels = Kernels.loaded(this);
                copyKernel = copyKernel(kernels);
            }
        }
    }

    /** Without kernels, the driver copies. */
    private static long copyKernel(Supplier<Kernels> loaded) {
        try {
            return loaded.get().copies();
        } catch (NcclException refused) {
            return 0;
        }
    }

    /** Gives a stream a kernel, between {@link #enter} and {@link #leave}. */
    void launch(long function, Launch launch) {
        require(launch.run(function), "cuLaunchKernelEx");
    }

    /** Loads compiled kernels. */
    long load(byte[] image) {
        long[] module = {0};
        runBesideCaptures("cuModuleLoadData", () -> Native.loadModule(module, image));
        return module[0];
    }

    /** A function of kernels that were loaded. */
    long function(long module, String name) {
        CUfunction function = new CUfunction();
        run("cuModuleGetFunction", () -> cuModuleGetFunction(function, Raw.module(module), name));
        runBesideCaptures("cuFuncLoad", () -> Native.load(Raw.value(function)));
        return Raw.value(function);
    }

    /** A number of 16 bytes that no other GPU has. */
    byte[] uuid() {
        return uuid.clone();
    }

    /** By what another process opens an allocation of this device. */
    byte[] handle(long address) {
        byte[] handle = new byte[Native.HANDLE_BYTES];
        run("cuIpcGetMemHandle", () -> Native.handle(handle, address));
        return handle;
    }

    /** The address at which this device reaches memory of another process. */
    long openHandle(byte[] handle) {
        long[] address = {0};
        runBesideCaptures(
                "cuIpcOpenMemHandle",
                () -> Native.open(address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
        return address[0];
    }

    /** Makes memory of another device of this process reachable; its address stays. */
    long peer(byte[] itsUuid, long address) {
        CudaDevice other = CudaProvider.open(itsUuid);
        if (other == null) {
            throw ErrorKind.DEVICE_FAILED.says(
                    "%s cannot reach the GPU of another rank of this process, which has not opened"
                            + " it",
                    name());
        }
        int result = inContext(() -> cuCtxEnablePeerAccess(other.context, 0));
        if (result != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) {
            require(result, "cuCtxEnablePeerAccess");
        }
        return address;
    }

    /** Fills memory of this device with zeros, before it returns. */
    void clear(long address, long bytes) {
        runBesideCaptures(
                "cuMemsetD8Async",
                () -> cuMemsetD8Async(Raw.memory(address), (byte) 0, bytes, own()));
        runBesideCaptures("cuStreamSynchronize", () -> cuStreamSynchronize(own()));
    }

    /** Reads memory of this device, before it returns. */
    void read(MemorySegment to, long from) {
        runBesideCaptures(
                "cuMemcpyAsync",
                () ->
                        cuMemcpyAsync(
                                Raw.memory(to.address()), Raw.memory(from), to.byteSize(), own()));
        runBesideCaptures("cuStreamSynchronize", () -> cuStreamSynchronize(own()));
    }

    /** Sets a word of 4 bytes that this device reaches, soon. */
    void set(long address, int value) {
        runBesideCaptures(
                "cuMemsetD32Async", () -> cuMemsetD32Async(Raw.memory(address), value, 1, own()));
    }

    /** A stream for what belongs to no caller. */
    private synchronized CUstream own() {
        CUstream known = own;
        if (known == null) {
            known = Raw.stream(openStream());
            own = known;
        }
        return known;
    }

    /** Another thread asks the driver, which may keep it waiting for as long as it likes. */
    @Override
    public @Nullable String fault() {
        LockSupport.unpark(watcher);
        return fault;
    }

    private void watch() {
        // Otherwise a question would end the capture of any stream.
        int[] mode = {CU_STREAM_CAPTURE_MODE_RELAXED};
        cuThreadExchangeStreamCaptureMode(mode);
        while (fault == null) {
            LockSupport.park();
            int result = inContext(() -> cuEventQuery(probe));
            if (result == CUDA_ERROR_DEINITIALIZED) {
                // The process ends.
                return;
            }
            if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY) {
                fault = Driver.text(result);
            }
        }
    }
}
