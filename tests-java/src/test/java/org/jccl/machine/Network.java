package org.jccl.machine;

import org.jccl.platform.Errno;
import org.jccl.platform.Memory;
import org.jspecify.annotations.Nullable;

import java.util.HashMap;
import java.util.Map;

/** Connections between simulated processes: who listens where, and how long bytes travel. */
final class Network {
    private static final int EINVAL = 22;
    private static final int ECONNREFUSED = 111;
    private static final int FIRST_PORT = 20_000;
    private static final long FAST_NS = 60 * Machine.US;
    private static final long SLOW_NS = 4 * Machine.MS;

    private final Machine machine;
    private final Map<Integer, Socket> listeners = new HashMap<>();

    /** By word of memory, how often its sleepers were woken. */
    private final Map<String, Long> wakes = new HashMap<>();

    private int nextPort = FIRST_PORT;

    Network(Machine machine) {
        this.machine = machine;
    }

    Machine machine() {
        return machine;
    }

    Socket socket(SimulatedProcess process) {
        return new Socket(this, process);
    }

    long wakes(String word) {
        return wakes.getOrDefault(word, 0L);
    }

    void wake(String word) {
        wakes.merge(word, 1L, Long::sum);
        machine.processes().forEach(SimulatedProcess::changed);
    }

    long bind(Socket socket, long sockaddr) {
        int port = Short.toUnsignedInt(Short.reverseBytes(Memory.getShort(sockaddr + 2)));
        if (port == 0) {
            port = nextPort++;
        }
        socket.bind(sockaddr, port);
        listeners.put(port, socket);
        return 0;
    }

    void unbind(Socket socket) {
        listeners.remove(socket.port(), socket);
    }

    /** How long something takes to the other end; mostly short, sometimes long. */
    long delay() {
        return machine.upTo(machine.random.nextInt(20) == 0 ? SLOW_NS : FAST_NS);
    }

    long connect(Socket socket, long sockaddr) {
        if (!socket.unconnected()) {
            return -EINVAL;
        }
        int port = Short.toUnsignedInt(Short.reverseBytes(Memory.getShort(sockaddr + 2)));
        socket.connecting(sockaddr, nextPort++);
        machine.after(delay(), () -> arrive(socket, port));
        return -Errno.EINPROGRESS;
    }

    private void arrive(Socket socket, int port) {
        if (socket.closed()) {
            return;
        }
        Socket listener = listening(port);
        if (listener == null) {
            socket.fail(ECONNREFUSED);
        } else {
            listener.offer(socket);
        }
    }

    private @Nullable Socket listening(int port) {
        Socket listener = listeners.get(port);
        return listener == null || listener.closed() ? null : listener;
    }
}
