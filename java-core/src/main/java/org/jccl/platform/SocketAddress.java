package org.jccl.platform;

import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An IPv4 or IPv6 address and a TCP port. Immutable. An IPv4 address that is mapped into an IPv6
 * one becomes the former.
 *
 * <p>It keeps bytes and no {@link InetAddress}, whose first object costs a process 5 ms and which
 * is used for texts only.
 *
 * @param address 4 or 16 bytes, which nobody changes
 * @param port 0 for none
 * @param scope the interface index of a link-local IPv6 address on this machine, else 0
 */
@SuppressWarnings("ArrayRecordComponent")
public record SocketAddress(byte[] address, int port, int scope) {
    /** Size of the wire form. */
    public static final int WIRE_BYTES = 24;

    private static final int IPV4_BYTES = 4;
    private static final int IPV6_BYTES = 16;
    private static final byte[] MAPPED = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1};
    private static final byte[] LOOPBACK = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    private static final int FIRST_MULTICAST = 224;
    private static final int MAX_PORT = 65535;

    /** The largest index of an interface that is believed: nine digits, as in {@link #TEXT}. */
    private static final int MAX_SCOPE = 999_999_999;

    private static final Pattern TEXT =
            Pattern.compile(
                    "(?:\\[([0-9a-fA-F:.]+)(?:%([^\\[\\]%/]+))?]|((?:\\d+\\.){3}\\d+)):(\\d{1,5})");

    /**
     * An address of these bytes.
     *
     * @throws NcclException with INVALID_ARGUMENT for a port outside 0…65535
     */
    public SocketAddress {
        if (port < 0 || port > MAX_PORT) {
            throw ErrorKind.ADDRESS_INVALID.says("port %s is not in 0…65535", port);
        }
        if (address.length == IPV6_BYTES && Arrays.equals(address, 0, 12, MAPPED, 0, 12)) {
            address = Arrays.copyOfRange(address, 12, IPV6_BYTES);
        }
        scope = address.length == IPV6_BYTES ? scope : 0;
    }

    /**
     * Reads {@code 10.0.0.1:4000}, {@code [fe80::1]:4000}, or {@code [fe80::1%2]:4000} with the
     * index or the name of an interface.
     *
     * @throws NcclException with INVALID_ARGUMENT for any other text
     */
    public static SocketAddress parse(String text) {
        Matcher matcher = TEXT.matcher(text);
        int port = matcher.matches() ? Integer.parseInt(matcher.group(4)) : MAX_PORT + 1;
        if (port <= MAX_PORT) {
            boolean ipv4 = matcher.group(1) == null;
            String scope = matcher.group(2);
            try {
                byte[] bytes = InetAddress.ofLiteral(matcher.group(ipv4 ? 3 : 1)).getAddress();
                return new SocketAddress(bytes, port, scope == null ? 0 : index(scope));
            } catch (IllegalArgumentException malformed) {
                // It is refused below.
            }
        }
        throw ErrorKind.ADDRESS_INVALID.says(
                "'%s' is no address: write 10.0.0.1:4000 or [fe80::1]:4000", text);
    }

    private static int index(String name) {
        if (name.matches("\\d{1,9}")) {
            return Integer.parseInt(name);
        }
        try {
            NetworkInterface found = NetworkInterface.getByName(name);
            if (found != null) {
                return found.getIndex();
            }
        } catch (SocketException unknown) {
            // It is refused below, as one that is not there.
        }
        throw ErrorKind.ADDRESS_INVALID.says("this machine has no interface '%s'", name);
    }

    /**
     * Reads the wire form, at the start of these bytes.
     *
     * @throws NcclException with REMOTE_ERROR if the bytes cannot have been written by {@link
     *     #toWire}
     */
    public static SocketAddress fromWire(byte[] wire) {
        if (wire.length < WIRE_BYTES) {
            throw ErrorKind.NONSENSE.says("an address from a peer is cut short");
        }
        ByteBuffer in = ByteBuffer.wrap(wire);
        int length = in.get();
        int zero = in.get();
        int port = in.getShort() & MAX_PORT;
        int scope = in.getInt();
        boolean scoped = scope >= 0 && scope <= MAX_SCOPE;
        if ((length != IPV4_BYTES && length != IPV6_BYTES) || zero != 0 || port == 0 || !scoped) {
            throw ErrorKind.NONSENSE.says("an address from a peer is malformed");
        }
        byte[] bytes = new byte[length];
        in.get(bytes);
        return new SocketAddress(bytes, port, scope);
    }

    /** Exactly {@link #WIRE_BYTES} bytes: length, zero, port, scope, address; big-endian. */
    public byte[] toWire() {
        ByteBuffer out = ByteBuffer.allocate(WIRE_BYTES);
        out.put((byte) address.length).put((byte) 0).putShort((short) port).putInt(scope);
        return out.put(address).array();
    }

    /** Whether this is an IPv6 address. */
    public boolean isIpv6() {
        return address.length == IPV6_BYTES;
    }

    /** Whether the address means something on one link only, so that it needs a scope. */
    public boolean isLinkLocal() {
        return isIpv6() && address[0] == (byte) 0xfe && (address[1] & 0xc0) == 0x80;
    }

    /** Whether the address never leaves this machine. */
    public boolean isLoopback() {
        return isIpv6() ? Arrays.equals(address, LOOPBACK) : address[0] == 127;
    }

    /** Whether the address is one of a single machine: not 0.0.0.0 or ::, and no multicast one. */
    public boolean isOfOneMachine() {
        boolean multicast =
                isIpv6() ? address[0] == (byte) 0xff : (address[0] & 0xff) >= FIRST_MULTICAST;
        return !multicast && !Arrays.equals(address, new byte[address.length]);
    }

    /** The same address with another port. */
    public SocketAddress withPort(int other) {
        return new SocketAddress(address, other, scope);
    }

    /** The same address with another scope; an IPv4 address has none. */
    public SocketAddress withScope(int other) {
        return new SocketAddress(address, port, other);
    }

    /** Writes a sockaddr_in or sockaddr_in6 to native memory; returns its size. */
    int toNative(long sockaddr) {
        Memory.fill(sockaddr, Sockets.SOCKADDR_IN6_BYTES, (byte) 0);
        Memory.putShort(sockaddr, (short) (isIpv6() ? Sockets.AF_INET6 : Sockets.AF_INET));
        Memory.putShort(sockaddr + 2, Short.reverseBytes((short) port));
        Memory.copyIn(address, 0, sockaddr + (isIpv6() ? 8 : 4), address.length);
        if (isIpv6()) {
            Memory.putInt(sockaddr + 24, scope);
        }
        return isIpv6() ? Sockets.SOCKADDR_IN6_BYTES : Sockets.SOCKADDR_IN_BYTES;
    }

    /** Reads a sockaddr_in or sockaddr_in6; null for any other family. */
    static @Nullable SocketAddress fromNative(long sockaddr) {
        int family = Memory.getShort(sockaddr);
        if (family != Sockets.AF_INET && family != Sockets.AF_INET6) {
            return null;
        }
        boolean ipv6 = family == Sockets.AF_INET6;
        int port = Short.toUnsignedInt(Short.reverseBytes(Memory.getShort(sockaddr + 2)));
        byte[] bytes = new byte[ipv6 ? IPV6_BYTES : IPV4_BYTES];
        Memory.copyOut(sockaddr + (ipv6 ? 8 : 4), bytes, 0, bytes.length);
        return new SocketAddress(bytes, port, ipv6 ? Memory.getInt(sockaddr + 24) : 0);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof SocketAddress that && Arrays.equals(toWire(), that.toWire());
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(toWire());
    }

    /** {@code 10.0.0.1:4000} or {@code [fe80:0:0:0:0:0:0:1%2]:4000}. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        if (!isIpv6()) {
            for (int i = 0; i < IPV4_BYTES; i++) {
                text.append(i == 0 ? "" : ".").append(address[i] & 0xff);
            }
            return text.append(':').append(port).toString();
        }
        for (int i = 0; i < IPV6_BYTES; i += 2) {
            int group = ((address[i] & 0xff) << 8) | (address[i + 1] & 0xff);
            text.append(i == 0 ? "[" : ":").append(Integer.toHexString(group));
        }
        return text.append(scope == 0 ? "" : "%" + scope).append("]:").append(port).toString();
    }
}
