package org.jccl.machine;

import org.jccl.platform.Errno;
import org.jccl.platform.Memory;
import org.jccl.platform.RawCalls;
import org.jspecify.annotations.Nullable;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/**
 * The system calls of one simulated process. Descriptors of sockets, events and processes are
 * simulated; memory is the real machine's, kept account of.
 */
final class Kernel {
    private static final Map<Long, String> NAMES = RawCalls.names();
    private static final int FIRST_SIMULATED = 1_000_000;
    private static final int IPPROTO_TCP = 6;
    private static final int ENOENT = 2;
    private static final int ESRCH = 3;
    private static final int EBADF = 9;
    private static final int EEXIST = 17;
    private static final int ENOSYS = 38;
    private static final int FUTEX_WAIT = 0;
    private static final int PROT_READ_WRITE = 3;
    private static final int MAP_PRIVATE_FIXED_ANONYMOUS = 2 | 0x10 | 0x20;

    /** A descriptor, as poll and close see it. */
    interface Descriptor {
        /** Poll bits. */
        int events();

        void close();
    }

    private record Mapping(long address, long bytes, String object) {}

    private final SimulatedProcess process;
    private final Map<Integer, Descriptor> simulated = new HashMap<>();

    /** By real descriptor, its memory. */
    private final Map<Integer, String> memories = new HashMap<>();

    private final TreeMap<Long, Mapping> mappings = new TreeMap<>();
    private int next = FIRST_SIMULATED;
    private int memoriesMade;

    Kernel(SimulatedProcess process) {
        this.process = process;
    }

    /** The result, or -errno. */
    long call(long number, long a, long b, long c, long d, long e, long f) {
        String name = NAMES.getOrDefault(number, "");
        return switch (name) {
            case "SCHED_YIELD" -> {
                pause(10 * Machine.US);
                yield 0;
            }
            case "PPOLL" -> poll(a, (int) b, c);
            case "FUTEX" -> b == FUTEX_WAIT ? await(a, (int) c, d) : wake(a);
            case "MEMBARRIER" -> 0;
            case "GETTID" -> process.machine().runningActor().number();
            case "PIDFD_OPEN" -> pidfd(a);
            case "EVENTFD2" -> add(new Events());
            case "EPOLL_CREATE1" -> add(new Watch());
            case "EPOLL_CTL" -> at(a) instanceof Watch watch ? watch.change(b, (int) c, d) : -EBADF;
            case "EPOLL_PWAIT" -> at(a) instanceof Watch watch ? watch.look(b, c) : -EBADF;
            case "READ" ->
                    switch (at(a)) {
                        case Events events -> events.take();
                        case Text text -> text.read(b, c);
                        case null, default -> -EBADF;
                    };
            case "WRITE" -> at(a) instanceof Events events ? events.signal() : -EBADF;
            case "CLOSE" -> close((int) a, number);
            case "MEMFD_CREATE", "OPENAT", "MMAP", "MUNMAP" ->
                    memory(name, number, a, b, c, d, e, f);
            // There is memory enough. To really take it all would only take time.
            case "FALLOCATE" -> 0;
            case "PRLIMIT64", "GETEUID", "FTRUNCATE", "FCNTL", "LSEEK" ->
                    RawCalls.call(number, a, b, c, d, e, f);
            default -> socketCall(name, a, b, c, d);
        };
    }

    private long socketCall(String name, long a, long b, long c, long d) {
        Network network = process.machine().network;
        if (name.equals("SOCKET")) {
            Socket made = network.socket(process);
            return made.named(add(made));
        }
        if (!(at(a) instanceof Socket socket)) {
            return name.isEmpty() ? -ENOSYS : -EBADF;
        }
        return switch (name) {
            case "BIND" -> network.bind(socket, b);
            case "LISTEN" -> socket.listen();
            case "ACCEPT4" -> {
                Socket accepted = socket.accept();
                yield accepted == null ? -Errno.EAGAIN : accepted.named(add(accepted));
            }
            case "CONNECT" -> network.connect(socket, b);
            case "SENDTO" -> socket.send(b, c);
            case "SENDMSG" -> socket.sendVectors(Memory.getLong(b + 16), Memory.getLong(b + 24));
            case "RECVFROM" -> socket.receive(b, c);
            case "SHUTDOWN" -> socket.shutdown();
            case "GETSOCKNAME" -> socket.name(b, false);
            case "GETPEERNAME" -> socket.name(b, true);
            case "SETSOCKOPT" -> 0;
            // TCP's own state is not simulated; other options ask for errors.
            case "GETSOCKOPT" -> b == IPPROTO_TCP ? 0 : socket.takeError(d);
            default -> -ENOSYS;
        };
    }

    private void pause(long mostNs) {
        Machine machine = process.machine();
        machine.runningActor().await(null, machine.nowNs() + machine.upTo(mostNs));
    }

    // ---- descriptors ----

    private int add(Descriptor descriptor) {
        int fd = next++;
        simulated.put(fd, descriptor);
        return fd;
    }

    private @Nullable Descriptor at(long fd) {
        return simulated.get((int) fd);
    }

    private long close(int fd, long number) {
        Descriptor descriptor = simulated.remove(fd);
        if (descriptor != null) {
            forgotten(fd, descriptor);
            descriptor.close();
            return 0;
        }
        if (memories.remove(fd) == null) {
            return -EBADF;
        }
        return RawCalls.call(number, fd, 0, 0, 0, 0, 0);
    }

    /** The copy of a forked child would keep alive a descriptor that is still watched. */
    private void forgotten(int fd, Descriptor closed) {
        for (Descriptor each : simulated.values()) {
            if (each instanceof Watch watch && watch.watched.remove(fd) != null) {
                process.machine().complain(closed + " was closed while it is polled", new Error());
            }
        }
    }

    private long poll(long entries, int n, long timespec) {
        if (timespec != 0 && Memory.getLong(timespec) == 0 && Memory.getLong(timespec + 8) == 0) {
            return ready(entries, n);
        }
        Machine machine = process.machine();
        long until =
                timespec == 0
                        ? Machine.NEVER
                        : machine.nowNs()
                                + Memory.getLong(timespec) * Machine.SECOND
                                + Memory.getLong(timespec + 8);
        machine.runningActor().await(() -> ready(entries, n) > 0, until);
        return ready(entries, n);
    }

    private int ready(long entries, int n) {
        int count = 0;
        for (int i = 0; i < n; i++) {
            long entry = entries + 8L * i;
            int fd = Memory.getInt(entry);
            int wanted = Memory.getShort(entry + 4) | Socket.POLLERR | Socket.POLLHUP;
            Descriptor descriptor = simulated.get(fd);
            int found = fd < 0 ? 0 : descriptor == null ? 32 : descriptor.events() & wanted;
            Memory.putShort(entry + 6, (short) found);
            count += found != 0 ? 1 : 0;
        }
        return count;
    }

    private long pidfd(long pid) {
        SimulatedProcess other = process.machine().process(pid);
        if (other == null || other.node() != process.node()) {
            return -ESRCH;
        }
        return add(
                new Descriptor() {
                    @Override
                    public int events() {
                        return other.dead() ? Socket.POLLIN : 0;
                    }

                    @Override
                    public void close() {}
                });
    }

    /** An eventfd. */
    private final class Events implements Descriptor {
        private boolean signalled;

        long take() {
            boolean was = signalled;
            signalled = false;
            return was ? 8 : -Errno.EAGAIN;
        }

        long signal() {
            signalled = true;
            process.changed();
            return 8;
        }

        @Override
        public int events() {
            return signalled ? Socket.POLLIN : 0;
        }

        @Override
        public void close() {}
    }

    /** An epoll instance, without a wait of its own. */
    private final class Watch implements Descriptor {
        private static final int ADD = 1;
        private static final int DATA = RawCalls.EPOLL_DATA;

        /** By descriptor, the events asked for and the caller's word. */
        private final TreeMap<Integer, long[]> watched = new TreeMap<>();

        long change(long operation, int fd, long event) {
            if (operation != ADD) {
                return watched.remove(fd) == null ? -ENOENT : 0;
            }
            if (at(fd) == null) {
                return -EBADF;
            }
            if (watched.containsKey(fd)) {
                return -EEXIST;
            }
            watched.put(fd, new long[] {Memory.getInt(event), Memory.getLong(event + DATA)});
            return 0;
        }

        private int ready(int fd, long[] asked) {
            int events = Objects.requireNonNull(simulated.get(fd)).events();
            return events & ((int) asked[0] | Socket.POLLERR | Socket.POLLHUP);
        }

        long look(long events, long most) {
            int count = 0;
            for (Map.Entry<Integer, long[]> each : watched.entrySet()) {
                int found = ready(each.getKey(), each.getValue());
                if (found != 0 && count < most) {
                    long event = events + (DATA + 8L) * count;
                    Memory.putInt(event, found);
                    Memory.putLong(event + DATA, each.getValue()[1]);
                    count++;
                }
            }
            return count;
        }

        @Override
        public int events() {
            return watched.entrySet().stream()
                            .anyMatch(each -> ready(each.getKey(), each.getValue()) != 0)
                    ? Socket.POLLIN
                    : 0;
        }

        @Override
        public void close() {}
    }

    /** A file of /proc. */
    private record Text(String content) implements Descriptor {
        long read(long to, long most) {
            byte[] bytes = content.getBytes(StandardCharsets.UTF_8);
            int n = (int) Math.min(most, bytes.length);
            Memory.copyIn(bytes, 0, to, n);
            return n;
        }

        @Override
        public int events() {
            return Socket.POLLIN;
        }

        @Override
        public void close() {}
    }

    // ---- memory ----

    private long memory(String name, long number, long a, long b, long c, long d, long e, long f) {
        if (name.equals("OPENAT")) {
            return open(number, Memory.string(b), c);
        }
        if (name.equals("MUNMAP") && mappings.remove(a) == null) {
            throw new AssertionError("munmap of what is not mapped");
        }
        long result = RawCalls.call(number, a, b, c, d, e, f);
        if (name.equals("MEMFD_CREATE")) {
            memories.put((int) result, process.pid() + "/" + result + "/" + memoriesMade++);
        } else if (name.equals("MMAP")) {
            String object = memories.getOrDefault((int) e, process.pid() + " alone " + result);
            mappings.put(result, new Mapping(result, b, object));
        }
        return result;
    }

    /** Opens /proc/pid/stat, or /proc/pid/fd/n, with the simulated pid. */
    private long open(long number, String path, long flags) {
        if (path.endsWith("/stat")) {
            String content = process.file(path, "");
            return content.isEmpty() ? -ENOENT : add(new Text(content));
        }
        String[] parts = path.split("/", -1);
        if (parts.length != 5 || !parts[3].equals("fd")) {
            return -ENOENT;
        }
        SimulatedProcess other = process.machine().process(Long.parseLong(parts[2]));
        int theirs = Integer.parseInt(parts[4]);
        if (other == null || other.dead() || other.node() != process.node()) {
            return -ENOENT;
        }
        String object = other.kernel().memories.get(theirs);
        if (object == null) {
            return -ENOENT;
        }
        try (java.lang.foreign.Arena arena = java.lang.foreign.Arena.ofConfined()) {
            long real = arena.allocateFrom("/proc/self/fd/" + theirs).address();
            int fd = (int) RawCalls.call(number, -100, real, flags, 0, 0, 0);
            memories.put(fd, object);
            return fd;
        }
    }

    /** Names a word of memory, in the same way in each process that has mapped it. */
    private String word(long address) {
        Map.Entry<Long, Mapping> below = mappings.floorEntry(address);
        if (below == null || address - below.getKey() >= below.getValue().bytes()) {
            return process.pid() + " word " + address;
        }
        return below.getValue().object() + "+" + (address - below.getKey());
    }

    private long await(long address, int expected, long timespec) {
        if (Memory.getInt(address) != expected) {
            return -Errno.EAGAIN;
        }
        Machine machine = process.machine();
        long ns = Memory.getLong(timespec) * Machine.SECOND + Memory.getLong(timespec + 8);
        String word = word(address);
        long before = machine.network.wakes(word);
        machine.runningActor()
                .await(() -> machine.network.wakes(word) != before, machine.nowNs() + ns);
        return 0;
    }

    private long wake(long address) {
        process.machine().network.wake(word(address));
        return 0;
    }

    // ---- the end ----

    /** What it has open, to be compared with what it should have. */
    List<String> open() {
        List<String> all = new ArrayList<>();
        simulated.values().forEach(each -> all.add(each.getClass().getSimpleName()));
        memories.keySet().forEach(fd -> all.add("memory"));
        mappings.values().forEach(each -> all.add("mapping of " + each.bytes()));
        return all;
    }

    /** The process has died: its descriptors are closed; what its threads write goes nowhere. */
    void end() {
        List.copyOf(simulated.values()).forEach(Descriptor::close);
        simulated.clear();
        long mmap = number("MMAP");
        for (Mapping each : mappings.values()) {
            RawCalls.call(
                    mmap,
                    each.address(),
                    each.bytes(),
                    PROT_READ_WRITE,
                    MAP_PRIVATE_FIXED_ANONYMOUS,
                    -1,
                    0);
        }
        memories.keySet().forEach(fd -> RawCalls.call(number("CLOSE"), fd, 0, 0, 0, 0, 0));
        memories.clear();
    }

    void unmap() {
        long munmap = number("MUNMAP");
        mappings.values()
                .forEach(each -> RawCalls.call(munmap, each.address(), each.bytes(), 0, 0, 0, 0));
        mappings.clear();
    }

    private static long number(String name) {
        return NAMES.entrySet().stream()
                .filter(entry -> entry.getValue().equals(name))
                .findFirst()
                .orElseThrow()
                .getKey();
    }
}
