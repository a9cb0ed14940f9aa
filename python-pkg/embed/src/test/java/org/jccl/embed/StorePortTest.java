package org.jccl.embed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.Map;
import java.util.stream.Collectors;

class StorePortTest {
    @Test
    void storeOfTorchGetsThePortAndNobodyElseDoes() throws IOException {
        try (StorePort first = new StorePort();
                StorePort second = new StorePort();
                ServerSocket store = new ServerSocket();
                ServerSocket other = new ServerSocket(0)) {
            InetSocketAddress place = place(first);
            assertTrue(place.getPort() != place(second).getPort());
            assertTrue(place.getPort() != other.getLocalPort());
            store.setReuseAddress(true);
            store.bind(place);
            assertEquals(place.getPort(), store.getLocalPort());
        }
    }

    private static InetSocketAddress place(StorePort port) {
        Map<String, String> variables =
                port.variables().stream()
                        .map(each -> each.split("=", 2))
                        .collect(Collectors.toMap(each -> each[0], each -> each[1]));
        return new InetSocketAddress(
                variables.get("MASTER_ADDR"), Integer.parseInt(variables.get("MASTER_PORT")));
    }
}
