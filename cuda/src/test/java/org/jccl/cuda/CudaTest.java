package org.jccl.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUstream;

import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.junit.jupiter.api.Test;

import java.lang.foreign.MemorySegment;

final class CudaTest {
    @Test
    void memoryIsWhereThePointerPoints() {
        MemorySegment memory = Cuda.memory(Raw.memory(0x7000).withByteOffset(0x10), 48);
        assertEquals(0x7010, memory.address());
        assertEquals(48, memory.byteSize());
    }

    @Test
    void nullPointerIsRefused() {
        NcclException e =
                assertThrows(NcclException.class, () -> Cuda.memory(new CUdeviceptr(), 4));
        assertEquals(NcclResult.INVALID_ARGUMENT, e.result());
    }

    @Test
    void streamIsTheSameStream() {
        assertEquals(0x1234, Cuda.stream(Raw.stream(0x1234)).handle());
        assertEquals(0, Cuda.stream(new CUstream()).handle());
    }
}
