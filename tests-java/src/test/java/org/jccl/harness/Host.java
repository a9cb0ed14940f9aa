package org.jccl.harness;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** How the host of a virtual machine disturbs it. */
public final class Host {
    private static final Path STATISTICS = Path.of("/proc/stat");
    private static final int STOLEN_FIELD = 8;
    private static final long TICK_NS = 10_000_000;

    private Host() {}

    /**
     * Nanoseconds of all cores together that the host has kept from this machine so far. Lengthen a
     * limit that holds on free cores by what was stolen meanwhile.
     */
    public static long stolenNs() {
        try (var lines = Files.lines(STATISTICS)) {
            String total = lines.findFirst().orElseThrow();
            return Long.parseLong(total.split(" +")[STOLEN_FIELD]) * TICK_NS;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
