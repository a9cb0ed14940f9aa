package org.jccl.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Files;
import java.nio.file.Path;

final class CudaProviderTest {
    private static NcclException refused(String name) {
        Config config = Config.DEFAULT.withDevice(name);
        return assertThrows(
                NcclException.class,
                () -> Communicator.initRank(1, Communicator.uniqueId(), 0, config));
    }

    @ParameterizedTest
    @ValueSource(strings = {"cuda", "cuda:0", "cuda:999999"})
    void withoutTheDriverASentenceSaysSo(String name) {
        assumeTrue(Driver.unusable() != null, "this machine has a GPU");
        NcclException e = refused(name);
        assertEquals(NcclResult.INVALID_ARGUMENT, e.result());
        String said = String.valueOf(e.getMessage());
        assertTrue(said.startsWith("there is no device \"cuda\": the CUDA driver's libcuda"), said);
    }

    @Test
    void numbersAreThoseOfTheDriver() {
        assumeTrue(Driver.unusable() == null, "this machine has no GPU: " + Driver.unusable());
        int count = Driver.count();
        assertEquals("cuda:0", new CudaProvider().open(-1).name());
        assertEquals("cuda:" + (count - 1), new CudaProvider().open(count - 1).name());
        String said = String.valueOf(refused("cuda:" + count).getMessage());
        assertTrue(said.contains("\"cuda:" + count + "\": the driver shows " + count), said);
    }

    @Test
    void filesOfJCudaAreGone() throws Exception {
        assumeTrue(Driver.unusable() == null, "without a driver JCuda has no files");
        Path folder = Path.of(System.getProperty("java.io.tmpdir"));
        assertTrue(!folder.toString().contains("jccl-cuda"), folder::toString);
        try (var files = Files.list(folder)) {
            assertEquals(0, files.filter(each -> each.toString().contains("jccl-cuda")).count());
        }
    }
}
