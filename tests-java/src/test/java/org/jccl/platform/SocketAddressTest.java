package org.jccl.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.type.NcclException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.Arrays;

class SocketAddressTest {
    @ParameterizedTest
    @CsvSource({
        "10.1.2.3:65535, 10.1.2.3:65535",
        "[::1]:80, [0:0:0:0:0:0:0:1]:80",
        "[fe80::a:1%7]:1, [fe80:0:0:0:0:0:a:1%7]:1",
        "[2001:db8:1:2:3:4:5:6]:9, [2001:db8:1:2:3:4:5:6]:9",
        "[1::]:9, [1:0:0:0:0:0:0:0]:9"
    })
    void survivesTextAndWire(String text, String canonical) {
        SocketAddress address = SocketAddress.parse(text);
        assertEquals(canonical, address.toString());
        assertEquals(address, SocketAddress.parse(address.toString()));
        byte[] wire = address.toWire();
        assertEquals(SocketAddress.WIRE_BYTES, wire.length);
        assertEquals(address, SocketAddress.fromWire(wire));
        assertEquals(address.hashCode(), SocketAddress.fromWire(wire).hashCode());
        assertEquals(address.port() ^ 1, address.withPort(address.port() ^ 1).port());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "10.0.0.1",
                "10.0.0.256:1",
                "10.0.0:1",
                "10.0.0.1:65536",
                "host:1",
                "[::1]",
                "[1::2::3]:4",
                "[1:2:3]:4",
                "[12345::]:4",
                "[1:2:3:4:5:6:7:8:9]:4"
            })
    void refusesOtherText(String text) {
        assertThrows(NcclException.class, () -> SocketAddress.parse(text));
    }

    @Test
    void refusesMalformedWire() {
        byte[] good = SocketAddress.parse("10.0.0.1:4000").toWire();
        for (int field : new int[] {0, 1}) {
            byte[] bad = good.clone();
            bad[field] = 7;
            assertThrows(NcclException.class, () -> SocketAddress.fromWire(bad));
        }
        byte[] noPort = good.clone();
        Arrays.fill(noPort, 2, 4, (byte) 0);
        assertThrows(NcclException.class, () -> SocketAddress.fromWire(noPort));
        byte[] brief = Arrays.copyOf(good, good.length - 1);
        assertThrows(NcclException.class, () -> SocketAddress.fromWire(brief));
    }

    @Test
    void knowsItsKind() {
        assertTrue(SocketAddress.parse("[fe80::1]:1").isLinkLocal());
        assertFalse(SocketAddress.parse("[fec0::1]:1").isLinkLocal());
        assertTrue(SocketAddress.parse("127.3.0.1:1").isLoopback());
        assertTrue(SocketAddress.parse("[::1]:1").isLoopback());
        assertFalse(SocketAddress.parse("[::2]:1").isLoopback());
    }
}
