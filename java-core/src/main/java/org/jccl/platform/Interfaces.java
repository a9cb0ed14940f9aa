package org.jccl.platform;

import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.StringJoiner;

/** Which network interface carries TCP: the rules of NCCL_SOCKET_IFNAME and NCCL_SOCKET_FAMILY. */
public final class Interfaces {
    private static final int IFF_UP = 1;

    private Interfaces() {}

    /**
     * One address of an interface that is up; the port is 0.
     *
     * @param name as in {@code ip link}
     */
    public record Interface(String name, SocketAddress address) {
        @Override
        public String toString() {
            String text = address.toString();
            return name + ":" + text.substring(0, text.lastIndexOf(':'));
        }
    }

    /** All addresses of interfaces that are up, in the system's order. */
    public static List<Interface> all() {
        List<Interface> found = new ArrayList<>();
        long result = CallState.current().option;
        if ((int) Libc.call(Libc.GETIFADDRS, result) != 0) {
            throw ErrorKind.SYSTEM_CALL.says("cannot list the network interfaces%s", refusal());
        }
        long list = Memory.getLong(result);
        for (long entry = list; entry != 0; entry = Memory.getLong(entry)) {
            add(entry, found);
        }
        Libc.call(Libc.FREEIFADDRS, list);
        return found;
    }

    /** The C library asks for them by a socket, and does not say why it gets none. */
    private static String refusal() {
        int fd = Sockets.socket(false);
        if (fd < 0) {
            return ": " + Errno.text(-fd);
        }
        Sockets.close(fd);
        return "";
    }

    /**
     * The usable interfaces, best first, one address each: those that the variables allow or, with
     * no name given, ib*, then others, then docker*, then lo.
     *
     * @param names value of NCCL_SOCKET_IFNAME: prefixes with commas, {@code =} before them for
     *     exact names, {@code ^} first to exclude instead
     * @param family value of NCCL_SOCKET_FAMILY: AF_INET, AF_INET6, or anything else for both
     * @throws NcclException with INVALID_USAGE if nothing fits, listing what exists
     */
    public static List<Interface> select(@Nullable String names, @Nullable String family) {
        List<Interface> all = all();
        List<Interface> fitting = select(all, names, family);
        if (fitting.isEmpty()) {
            StringJoiner exist = new StringJoiner(", ").setEmptyValue("none");
            all.forEach(each -> exist.add(each.toString()));
            throw ErrorKind.NO_INTERFACE.says(
                    "no network interface matches%s%s; up on this machine: %s",
                    names == null || names.isEmpty() ? "" : " NCCL_SOCKET_IFNAME=" + names,
                    family == null ? "" : " NCCL_SOCKET_FAMILY=" + family,
                    exist);
        }
        return fitting;
    }

    /** The choice among these. */
    static List<Interface> select(
            List<Interface> all, @Nullable String names, @Nullable String family) {
        String list = names == null ? "" : names;
        boolean chosen = !list.isEmpty();
        List<Interface> fitting = new ArrayList<>(all);
        fitting.removeIf(each -> chosen && !matches(each.name(), list));
        fitting.removeIf(each -> !inFamily(each.address(), family));
        fitting.sort(
                Comparator.comparingInt((Interface each) -> chosen ? 0 : defaultClass(each.name()))
                        .thenComparingInt(each -> quality(each.address())));
        Set<String> seen = new HashSet<>();
        fitting.removeIf(each -> !seen.add(each.name()));
        return fitting;
    }

    private static boolean matches(String name, String names) {
        boolean exclude = names.startsWith("^");
        String list = exclude ? names.substring(1) : names;
        boolean exact = list.startsWith("=");
        boolean listed =
                Arrays.stream((exact ? list.substring(1) : list).split(",", -1))
                        .filter(each -> !each.isEmpty())
                        .anyMatch(each -> exact ? name.equals(each) : name.startsWith(each));
        return listed != exclude;
    }

    static boolean inFamily(SocketAddress address, @Nullable String family) {
        String other = address.isIpv6() ? "AF_INET" : "AF_INET6";
        return !other.equalsIgnoreCase(family);
    }

    private static int defaultClass(String name) {
        if (name.startsWith("ib")) {
            return 0;
        }
        if (name.equals("lo")) {
            return 3;
        }
        return name.startsWith("docker") ? 2 : 1;
    }

    private static int quality(SocketAddress address) {
        return address.isLinkLocal() ? 2 : address.isIpv6() ? 1 : 0;
    }

    private static void add(long entry, List<Interface> found) {
        long sockaddr = Memory.getLong(entry + 24);
        boolean up = (Memory.getInt(entry + 16) & IFF_UP) != 0;
        if (sockaddr == 0 || !up) {
            return;
        }
        SocketAddress address = SocketAddress.fromNative(sockaddr);
        if (address != null && !(address.isIpv6() && address.isLoopback())) {
            found.add(new Interface(Memory.string(Memory.getLong(entry + 8)), address.withPort(0)));
        }
    }
}
