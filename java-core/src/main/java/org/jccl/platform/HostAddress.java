package org.jccl.platform;

import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.Comparator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Addresses as users write them: with the names of hosts and interfaces. */
public final class HostAddress {
    private static final Pattern WITH_NAME =
            Pattern.compile("([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9.])?):(\\d{1,5})");
    private static final Pattern NUMERIC = Pattern.compile("[0-9.]+");

    private HostAddress() {}

    /**
     * Reads {@code 10.0.0.1:4000}, {@code [fd00::1]:4000}, {@code [fe80::1%eth0]:4000} or {@code
     * host:4000}. The system looks a name up, within its own time limit; of several addresses this
     * takes the first of the family, and IPv4 if both families will do.
     *
     * @param family AF_INET, AF_INET6, or anything else for both
     * @throws NcclException with INVALID_ARGUMENT if the text is none of these, or the name unknown
     */
    public static SocketAddress parse(String text, @Nullable String family) {
        String stripped = text.strip();
        Matcher withName = WITH_NAME.matcher(stripped);
        SocketAddress address =
                withName.matches() && !NUMERIC.matcher(withName.group(1)).matches()
                        ? named(withName.group(1), Integer.parseInt(withName.group(2)), family)
                        : SocketAddress.parse(stripped);
        if (address.port() == 0) {
            throw ErrorKind.ADDRESS_INVALID.says("'%s' has no port, which is 1 to 65535", text);
        }
        return address;
    }

    private static SocketAddress named(String host, int port, @Nullable String family) {
        try {
            return Arrays.stream(InetAddress.getAllByName(host))
                    .map(each -> new SocketAddress(each.getAddress(), port, 0))
                    .filter(each -> Interfaces.inFamily(each, family))
                    .min(Comparator.comparing(SocketAddress::isIpv6))
                    .orElseThrow(
                            () ->
                                    ErrorKind.ADDRESS_INVALID.says(
                                            "host '%s' has no address of %s", host, family));
        } catch (UnknownHostException unknown) {
            throw ErrorKind.ADDRESS_INVALID.because(
                    unknown, "host '%s' is not known to this machine", host);
        }
    }
}
