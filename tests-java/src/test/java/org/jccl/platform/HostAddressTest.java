package org.jccl.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HostAddressTest {
    @Test
    void readsNumbersAndNames() {
        assertEquals("10.0.0.1:4000", HostAddress.parse(" 10.0.0.1:4000 ", null).toString());
        assertEquals(
                "[fd00:0:0:0:0:0:0:1]:4000", HostAddress.parse("[fd00::1]:4000", null).toString());
        assertEquals(3, HostAddress.parse("[fe80::1%3]:4000", null).scope());
        assertTrue(HostAddress.parse("[fe80::1%lo]:4000", null).scope() > 0);
        SocketAddress local = HostAddress.parse("localhost:4000", null);
        assertTrue(local.isLoopback());
        assertFalse(local.isIpv6());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "4000",
                "10.0.0.1",
                "10.0.0.1:",
                "10.0.0.1:0",
                "localhost:0",
                "10.0.0.1:65536",
                "localhost:65536",
                "1.2.3:4000",
                "10.0.0.256:4000",
                "[fe80::1%nosuchif0]:4000",
                "[fe80::1]",
                "fe80::1:4000",
                "a b:4000",
                "-x:4000",
                "no-such-host.invalid:4000"
            })
    void refusesEverythingElse(String text) {
        NcclException refused =
                assertThrows(NcclException.class, () -> HostAddress.parse(text, null));
        assertEquals(NcclResult.INVALID_ARGUMENT, refused.result());
    }

    @Test
    void tellsAddressesOfOneMachineFromOthers() {
        assertTrue(SocketAddress.parse("10.0.0.1:1").isOfOneMachine());
        assertTrue(SocketAddress.parse("[::1]:1").isOfOneMachine());
        assertFalse(SocketAddress.parse("0.0.0.0:1").isOfOneMachine());
        assertFalse(SocketAddress.parse("224.0.0.1:1").isOfOneMachine());
        assertFalse(SocketAddress.parse("[::]:1").isOfOneMachine());
        assertFalse(SocketAddress.parse("[ff02::1]:1").isOfOneMachine());
    }
}
