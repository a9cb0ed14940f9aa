package org.jccl.cuda;

import static jcuda.driver.CUresult.CUDA_SUCCESS;
import static jcuda.driver.JCudaDriver.cuCtxGetCurrent;
import static jcuda.driver.JCudaDriver.cuCtxGetDevice;
import static jcuda.driver.JCudaDriver.cuDeviceGetCount;
import static jcuda.driver.JCudaDriver.cuGetErrorName;
import static jcuda.driver.JCudaDriver.cuGetErrorString;
import static jcuda.driver.JCudaDriver.cuInit;

import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;

import org.jccl.type.ErrorKind;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Files;
import java.nio.file.Path;

/** The CUDA driver in this process. */
@SuppressWarnings("restricted")
final class Driver {
    /** The name under which every driver has its functions. */
    static final String LIBRARY = "libcuda.so.1";

    private static final String FOLDER_PROPERTY = "java.io.tmpdir";

    /** Why no GPU can be used, or null. */
    private static final @Nullable String UNUSABLE = load();

    private Driver() {}

    /** Why this process cannot use any GPU, or null if it can. */
    static @Nullable String unusable() {
        return UNUSABLE;
    }

    private static @Nullable String load() {
        try (Arena arena = Arena.ofConfined()) {
            SymbolLookup.libraryLookup(LIBRARY, arena);
            return initialize();
        } catch (IllegalArgumentException absent) {
            return "the CUDA driver's "
                    + LIBRARY
                    + " cannot be loaded; install NVIDIA's driver, or start the container with "
                    + "access to the GPUs";
        } catch (LinkageError | IOException failed) {
            return "JCuda cannot be loaded: " + String.valueOf(failed).lines().findFirst().get();
        }
    }

    /**
     * JCuda puts its library into the folder for temporary files, under a name that is always the
     * same, and loads what it finds there. So that folder is one of this process alone meanwhile.
     */
    private static @Nullable String initialize() throws IOException {
        Path folder = Files.createTempDirectory("jccl-cuda");
        String before = System.setProperty(FOLDER_PROPERTY, folder.toString());
        try {
            int result = cuInit(0);
            return result == CUDA_SUCCESS ? null : "cuInit says " + text(result);
        } finally {
            if (before != null) {
                System.setProperty(FOLDER_PROPERTY, before);
            }
            remove(folder);
        }
    }

    private static void remove(Path folder) throws IOException {
        try (var files = Files.list(folder)) {
            for (Path file : files.toList()) {
                Files.delete(file);
            }
        }
        Files.delete(folder);
    }

    /** How many GPUs this process sees. */
    static int count() {
        int[] count = {0};
        require(cuDeviceGetCount(count), "cuDeviceGetCount", CudaProvider.KIND);
        return count[0];
    }

    /** The number of the GPU that the calling thread uses; 0 if it uses none. */
    static int current() {
        CUcontext context = new CUcontext();
        CUdevice device = new CUdevice();
        boolean has =
                cuCtxGetCurrent(context) == CUDA_SUCCESS
                        && Raw.value(context) != 0
                        && cuCtxGetDevice(device) == CUDA_SUCCESS;
        return has ? (int) Raw.value(device) : 0;
    }

    /**
     * Checks what a function of the driver has returned.
     *
     * @param device the name of the device
     */
    static void require(int result, String function, String device) {
        if (result != CUDA_SUCCESS) {
            throw ErrorKind.DEVICE_FAILED.says("%s refuses %s: %s", device, function, text(result));
        }
    }

    /** The name and the meaning of a result, as the driver knows them. */
    static String text(int result) {
        String[] name = {null};
        String[] meaning = {null};
        boolean known =
                cuGetErrorName(result, name) == CUDA_SUCCESS
                        && cuGetErrorString(result, meaning) == CUDA_SUCCESS;
        return known ? name[0] + " (" + meaning[0] + ")" : "error " + result;
    }
}
