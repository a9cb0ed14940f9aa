package org.jccl.cuda;

import static jcuda.driver.CUdevice_P2PAttribute.CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED;
import static jcuda.driver.JCudaDriver.cuDeviceGet;
import static jcuda.driver.JCudaDriver.cuDeviceGetP2PAttribute;

import jcuda.driver.CUdevice;

import org.jccl.type.ErrorKind;

import java.util.Arrays;

/** How the GPUs that this process sees are connected. */
final class NvLink {
    private NvLink() {}

    /**
     * Refuses two GPUs that it does not connect: over PCIe lines of 128 bytes may be split on their
     * way, so that a reader would see the number before the data. NVLink keeps them, and carries
     * atomics.
     *
     * @param uuid the other GPU
     */
    static void require(CudaDevice device, byte[] uuid) {
        for (int number = 0; number < Driver.count(); number++) {
            byte[] each = new byte[uuid.length];
            Driver.require(Native.uuid(each, number), "cuDeviceGetUuid", device.name());
            if (Arrays.equals(each, uuid)) {
                require(device, number);
                return;
            }
        }
        throw ErrorKind.DEVICE_FAILED.says(
                "%s cannot tell how it is connected to the GPU of another rank, which this process"
                        + " does not see (CUDA_VISIBLE_DEVICES)",
                device.name());
    }

    private static void require(CudaDevice device, int number) {
        int[] atomics = {0};
        int attribute = CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED;
        CUdevice own = gpu(device.ordinal(), device);
        int result = cuDeviceGetP2PAttribute(atomics, attribute, own, gpu(number, device));
        Driver.require(result, "cuDeviceGetP2PAttribute", device.name());
        if (atomics[0] == 0) {
            throw ErrorKind.DEVICE_FAILED.says(
                    "%s and %s:%s are not connected by NVLink",
                    device.name(), device.kind(), number);
        }
    }

    private static CUdevice gpu(int number, CudaDevice asked) {
        CUdevice gpu = new CUdevice();
        Driver.require(cuDeviceGet(gpu, number), "cuDeviceGet", asked.name());
        return gpu;
    }
}
