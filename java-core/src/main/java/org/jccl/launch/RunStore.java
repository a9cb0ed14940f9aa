package org.jccl.launch;

import org.jccl.bootstrap.Rendezvous;
import org.jccl.type.ErrorKind;
import org.jccl.type.UniqueId;

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/**
 * The store of {@code python -m jccl.run}, whose protocol {@code jccl/core/rendezvous.py}
 * describes: ranks in Java and in Python get their ids from each other.
 */
final class RunStore {
    private static final int MAX_LINE = 4096;

    private RunStore() {}

    /** The id with this number. */
    static UniqueId exchange(String name, int number, LaunchedRank launched) {
        String key = "id/" + number;
        if (launched.rank() == 0) {
            UniqueId id = Rendezvous.createId();
            String hex = HexFormat.of().formatHex(id.toBytes());
            ask(name, "PUT " + key + " " + hex + " " + (launched.nRanks() - 1) + "\n");
            return id;
        }
        return IdExchange.fromHex(ask(name, "GET " + key + "\n"), "JCCL_STORE " + name);
    }

    private static String ask(String name, String request) {
        try (StoreConnection store = StoreConnection.named(name)) {
            store.send(request.getBytes(StandardCharsets.US_ASCII));
            StringBuilder line = new StringBuilder();
            for (int next = store.receive(1)[0];
                    next != '\n' && line.length() < MAX_LINE;
                    next = store.receive(1)[0]) {
                line.append((char) next);
            }
            String answer = line.toString();
            if (answer.startsWith("REFUSED ")) {
                throw ErrorKind.STORE_FAILED.says(
                        "the launcher at JCCL_STORE %s does not hand on an id: %s",
                        name, answer.substring(8).strip());
            }
            return answer.strip();
        }
    }
}
