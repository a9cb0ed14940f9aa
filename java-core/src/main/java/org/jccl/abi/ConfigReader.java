package org.jccl.abi;

import org.jccl.log.Log;
import org.jccl.log.Subsystem;
import org.jccl.platform.Memory;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclConfig;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.nio.charset.StandardCharsets;

/**
 * Reads {@code ncclConfig_t} of any version, and {@code jcclConfig_t}: as many bytes as the
 * caller's struct has, checked by NCCL's rules. It checks numbers that mean nothing on host ranks,
 * then ignores them; it does not look at netName, trafficClass and nvlsHostMode.
 */
final class ConfigReader {
    private static final int UNDEF = Integer.MIN_VALUE;
    private static final int MAGIC = 0xcafebeef;
    private static final int MAX_NAME = 1024;
    private static final int MAX_SIZE = 1 << 16;
    private static final int FIRST_FIELD = 16;
    private static final int BLOCKING = 16;
    private static final int SPLIT_SHARE = 40;
    private static final int COMM_NAME = 48;

    /**
     * Of a {@code jcclConfig_t}: what says that it is one, and its fields, by their distance from
     * its end; NCCL's part before them may be of any version.
     */
    private static final int JCCL_MAGIC = 16;

    private static final long MAGIC_OF_JCCL = 0x4746436c63636aL;
    private static final int DEVICE = 8;
    private static final int ANY = Integer.MAX_VALUE;
    private static final int MIN_CTAS = 24;
    private static final int MAX_CTAS = 28;

    private record Field(String name, int offset, int min, int max) {
        String range() {
            return max == ANY ? min + " or more" : "between " + min + " and " + max;
        }
    }

    private static final Field[] FIELDS = {
        new Field("blocking", BLOCKING, 0, 1),
        new Field("cgaClusterSize", 20, 0, ANY),
        new Field("minCTAs", MIN_CTAS, 1, ANY),
        new Field("maxCTAs", MAX_CTAS, 1, ANY),
        new Field("splitShare", SPLIT_SHARE, 0, 1),
        new Field("collnetEnable", 56, 0, 1),
        new Field("policy", 60, 0, 3),
        new Field("shrinkShare", 64, 0, 1),
        new Field("nvlsCTAs", 68, 1, ANY),
        new Field("nChannelsPerNetPeer", 72, 1, 64),
        new Field("nvlinkCentricSched", 76, 0, 1),
        new Field("graphUsageMode", 80, 0, 2),
        new Field("numRmaCtx", 84, 0, ANY),
        new Field("maxP2pPeers", 88, 1, ANY),
        new Field("graphStreamOrdering", 92, 0, 1),
        new Field("launchOrderImplicit", 96, 0, 1),
        new Field("numRmaSig", 100, 0, ANY),
        new Field("rmaEagerInit", 104, 0, 1),
        new Field("hostCftMode", 108, 1, 3)
    };

    private ConfigReader() {}

    /**
     * The configuration at this address, with the defaults of fields that are not set.
     *
     * @param address 0 for none
     * @throws NcclException INVALID_ARGUMENT for a struct that is not initialised or a bad value
     */
    static NcclConfig read(long address) {
        if (address == 0) {
            return NcclConfig.DEFAULT;
        }
        long size = Memory.getLong(address);
        if (size < FIRST_FIELD || size > MAX_SIZE || Memory.getInt(address + 8) != MAGIC) {
            throw ErrorKind.CONFIG_NOT_INITIALIZED.says(
                    "ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER");
        }
        for (Field field : FIELDS) {
            int value = intAt(address, size, field.offset);
            if (value != UNDEF && (value < field.min || value > field.max)) {
                throw ErrorKind.CONFIG_VALUE.says(
                        "Invalid config %s attribute value %s; it must be %s",
                        field.name, value, field.range());
            }
        }
        int min = intAt(address, size, MIN_CTAS);
        int max = intAt(address, size, MAX_CTAS);
        if (min != UNDEF && max != UNDEF && min > max) {
            throw ErrorKind.CONFIG_VALUE.says(
                    "Invalid config min/max channels attribute value %s/%s; the first must "
                            + "not be the larger one",
                    min, max);
        }
        // The default, too, is to block.
        boolean blocks = intAt(address, size, BLOCKING) != 0;
        if (intAt(address, size, SPLIT_SHARE) == 1) {
            Log.info(Subsystem.INIT, "splitShare is accepted; children share nothing in JCCL");
        }
        NcclConfig config = NcclConfig.DEFAULT.withBlocking(blocks);
        config = config.withCommName(textAt(address, size, COMM_NAME));
        long end = address + size;
        boolean ours =
                size >= FIRST_FIELD + JCCL_MAGIC
                        && Memory.getLong(end - JCCL_MAGIC) == MAGIC_OF_JCCL;
        return ours ? config.withDevice(textAt(address, size, (int) size - DEVICE)) : config;
    }

    private static int intAt(long address, long size, int offset) {
        return offset + 4 <= size ? Memory.getInt(address + offset) : UNDEF;
    }

    private static @Nullable String textAt(long address, long size, int offset) {
        long at = offset + 8 <= size ? Memory.getLong(address + offset) : 0;
        if (at == 0) {
            return null;
        }
        byte[] bytes = new byte[MAX_NAME];
        int n = 0;
        while (n < MAX_NAME && Memory.getByte(at + n) != 0) {
            bytes[n] = Memory.getByte(at + n);
            n++;
        }
        return new String(bytes, 0, n, StandardCharsets.UTF_8);
    }
}
