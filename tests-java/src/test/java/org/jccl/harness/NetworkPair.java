package org.jccl.harness;

import org.jccl.device.UsedDevice;
import org.opentest4j.TestAbortedException;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Two network namespaces of one user namespace, joined by a virtual wire. */
public final class NetworkPair implements Namespaces {
    private static final String NOBODY = "02:00:00:00:00:01";

    private final Process first;
    private final Process second;

    private NetworkPair(Process first, Process second) {
        this.first = first;
        this.second = second;
    }

    /**
     * Makes the pair: addresses 10.77.0.1 and 10.77.0.2.
     *
     * @throws AssertionError with the system's reason if it refuses namespaces
     */
    public static NetworkPair open() {
        Process first = null;
        Process second = null;
        try {
            first = Namespaces.hold(List.of("unshare", "--user", "--map-root-user", "--net"), "");
            List<String> more = new ArrayList<>(enter(first));
            more.removeLast();
            more.remove("--net");
            more.addAll(List.of("unshare", "--net"));
            second = Namespaces.hold(more, "");
            script(
                    first,
                    "ip link add wire0 type veth peer name wire1 netns "
                            + second.pid()
                            + " && ip addr add 10.77.0.1/24 dev wire0 && ip link set wire0 up"
                            + " && ip link set lo up");
            script(
                    second,
                    "ip addr add 10.77.0.2/24 dev wire1 && ip link set wire1 up"
                            + " && ip link set lo up");
            return new NetworkPair(first, second);
        } catch (IOException e) {
            Namespaces.end(first);
            Namespaces.end(second);
            if (!UsedDevice.SIMULATED) {
                // Machines that are lent for their devices may lack much else.
                throw new TestAbortedException("no network namespaces here: " + e.getMessage(), e);
            }
            throw new AssertionError("network namespaces are refused here: " + e.getMessage(), e);
        }
    }

    /**
     * From now on what the first or second sends is lost on the way, acknowledgements included, as
     * between machines: it goes to a card that is not there.
     */
    public void cut(int sender) {
        neighbour(sender, NOBODY);
    }

    /** Both hear each other again. */
    public void heal() {
        neighbour(0, address(second, "wire1"));
        neighbour(1, address(first, "wire0"));
    }

    private void neighbour(int sender, String card) {
        try {
            script(
                    sender == 0 ? first : second,
                    "ip neigh replace 10.77.0."
                            + (2 - sender)
                            + " lladdr "
                            + card
                            + " dev wire"
                            + sender
                            + " nud permanent");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String address(Process holder, String device) {
        try {
            String shown = script(holder, "ip -o link show " + device);
            return shown.replaceFirst("(?s).*link/ether (\\S+).*", "$1");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public List<String> enter(int which) {
        return enter(which == 0 ? first : second);
    }

    private static List<String> enter(Process holder) {
        return Namespaces.enter(holder, "--net");
    }

    private static String script(Process holder, String text) throws IOException {
        List<String> command = new ArrayList<>(enter(holder));
        command.addAll(List.of("sh", "-c", text));
        Process shell = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(shell.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (shell.onExit().join().exitValue() != 0) {
            throw new IOException(text + ": " + said);
        }
        return said;
    }

    @Override
    public void close() {
        Namespaces.end(first);
        Namespaces.end(second);
    }
}
