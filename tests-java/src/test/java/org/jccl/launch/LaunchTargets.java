package org.jccl.launch;

import org.jccl.fuzz.FuzzTarget;
import org.jccl.type.UniqueId;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What launchers' stores answer. */
public final class LaunchTargets {
    private LaunchTargets() {}

    /** All targets of this package. */
    public static List<FuzzTarget> all() {
        byte[] id = new byte[UniqueId.BYTES];
        Arrays.fill(id, (byte) 0xA5);
        String hex = HexFormat.of().formatHex(id);
        return List.of(
                new FuzzTarget(
                        "store-answer",
                        1,
                        List.of(hex.getBytes(StandardCharsets.US_ASCII)),
                        input -> {
                            String text = new String(input, StandardCharsets.ISO_8859_1);
                            byte[] read = IdExchange.fromHex(text, "here").toBytes();
                            String again = HexFormat.of().formatHex(read);
                            if (!again.equalsIgnoreCase(text)) {
                                throw new AssertionError("another id: " + again);
                            }
                            return "id";
                        },
                        Set.of("id"),
                        Map.of("no id", "is no unique id")));
    }
}
