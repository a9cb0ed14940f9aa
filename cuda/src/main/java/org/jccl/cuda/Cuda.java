package org.jccl.cuda;

import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUstream;

import org.jccl.Stream;
import org.jccl.type.ErrorKind;

import java.lang.foreign.MemorySegment;

/**
 * JCuda's objects as what JCCL's calls take.
 *
 * <pre>{@code
 * CUdeviceptr data = new CUdeviceptr();
 * cuMemAlloc(data, 4 * count);
 * MemorySegment buffer = Cuda.memory(data, 4 * count);
 * comm.inStream(Cuda.stream(stream)).allReduce(buffer, buffer, count, FLOAT32, SUM);
 * cuStreamSynchronize(stream);
 * }</pre>
 *
 * <p>Memory and streams are those of the GPU's primary context, which CUDA's runtime uses too and
 * {@code cuDevicePrimaryCtxRetain} gives. In a context that {@code cuCtxCreate} made, the default
 * stream is another one, after which JCCL does not wait.
 */
public final class Cuda {
    private Cuda() {}

    /**
     * Memory of a GPU. The segment stays valid for as long as the memory; the host must not touch
     * it.
     *
     * @param bytes how many bytes from the address on belong to the buffer
     * @throws org.jccl.type.NcclException NULL_ARGUMENT if the pointer is null
     */
    @SuppressWarnings("restricted")
    public static MemorySegment memory(CUdeviceptr address, long bytes) {
        long value = Raw.address(address);
        if (value == 0) {
            throw ErrorKind.NULL_ARGUMENT.says("Cuda.memory : address is a null pointer");
        }
        return MemorySegment.ofAddress(value).reinterpret(bytes);
    }

    /** A stream of a GPU; a new CUstream is the default stream. */
    public static Stream stream(CUstream stream) {
        return new Stream(Raw.value(stream));
    }
}
