package org.jccl.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.platform.Interfaces.Interface;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.stream.Collectors;

class InterfacesTest {
    private static final List<Interface> MACHINE =
            List.of(
                    at("lo", "127.0.0.1:0"),
                    at("docker0", "172.17.0.1:0"),
                    at("eth0", "[fe80::1%2]:0"),
                    at("eth0", "[2001::1]:0"),
                    at("eth0", "10.0.0.1:0"),
                    at("eth01", "10.0.1.1:0"),
                    at("ib0", "[fe80::2%4]:0"));

    @Test
    void prefersInfinibandThenOthersThenDockerThenLoopback() {
        assertEquals("ib0 eth0 eth01 docker0 lo", choose(null, null));
        assertEquals("ib0 eth0 eth01 docker0 lo", choose("", null));
    }

    @Test
    void takesPrefixesExactNamesAndExclusions() {
        assertEquals("eth0 eth01", choose("eth", null));
        assertEquals("eth0", choose("=eth0", null));
        assertEquals("lo eth0 eth01", choose("eth,lo", null));
        assertEquals("docker0 ib0", choose("^lo,eth", null));
        assertEquals("lo docker0 eth01 ib0", choose("^=eth0", null));
        assertEquals("", choose("enp", null));
    }

    @Test
    void obeysTheFamily() {
        assertEquals("ib0 eth0", choose(null, "AF_INET6"));
        assertEquals("eth0 eth01 docker0 lo", choose(null, "AF_INET"));
        assertEquals("ib0 eth0 eth01 docker0 lo", choose(null, "AF_ANY"));
    }

    @Test
    void prefersGlobalAddressesAndIpv4() {
        assertEquals(
                "10.0.0.1:0",
                Interfaces.select(MACHINE, "=eth0", null).getFirst().address().toString());
        assertEquals(
                "[2001:0:0:0:0:0:0:1]:0",
                Interfaces.select(MACHINE, "=eth0", "AF_INET6").getFirst().address().toString());
    }

    @Test
    void listsWhatExistsWhenNothingMatches() {
        NcclException refused =
                assertThrows(NcclException.class, () -> Interfaces.select("nosuch0", null));
        assertEquals(NcclResult.INVALID_USAGE, refused.result());
        assertTrue(refused.toString().contains("nosuch0"), refused.getMessage());
        for (Interface each : Interfaces.all()) {
            assertTrue(refused.toString().contains(each.name()), refused.getMessage());
        }
    }

    private static String choose(@Nullable String names, @Nullable String family) {
        return Interfaces.select(MACHINE, names, family).stream()
                .map(Interface::name)
                .collect(Collectors.joining(" "));
    }

    private static Interface at(String name, String address) {
        return new Interface(name, SocketAddress.parse(address));
    }
}
