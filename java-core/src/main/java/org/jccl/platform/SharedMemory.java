package org.jccl.platform;

import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;

import java.io.File;
import java.lang.foreign.Arena;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Mapped memory: shared with other processes through a descriptor without a name, or private. It is
 * allocated when made, or part by part before that part is used, so that a full system is an error
 * here and never SIGBUS later.
 *
 * @param address at which it is mapped
 * @param sizeBytes its size in bytes
 * @param fd the descriptor by which others can open it, or -1
 * @param inDevShm whether it is a file in /dev/shm
 * @param closed set by whichever thread closes first, atomically
 */
public record SharedMemory(
        long address, long sizeBytes, int fd, boolean inDevShm, AtomicBoolean closed)
        implements AutoCloseable {
    private static final String DEV_SHM = "/dev/shm";
    private static final int SEEK_END = 2;
    private static final int PROT_READ_WRITE = 3;
    private static final int MAP_SHARED = 1;
    private static final int MAP_PRIVATE = 2;
    private static final int MAP_ANONYMOUS = 0x20;
    private static final int MFD_CLOEXEC_ALLOW_SEALING = 3;
    private static final int F_ADD_SEALS = 1033;

    /** Against further seals, and against shrinking and growing. */
    private static final int SEALS = 1 | 2 | 4;

    private SharedMemory(long address, long sizeBytes, int fd, boolean inDevShm) {
        this(address, sizeBytes, fd, inDevShm, new AtomicBoolean());
    }

    /**
     * New zeroed memory that other processes can {@link #open}: an anonymous memfd sealed against
     * any change of size or, where that is refused, a nameless file in /dev/shm. Where both are
     * refused it is private, with {@link #fd} -1. Only the first {@code allocatedBytes} are
     * allocated: nobody may touch the rest before {@link #allocate}.
     *
     * @throws NcclException with SYSTEM_ERROR naming the size if the system has not got that much
     */
    public static SharedMemory create(long sizeBytes, long allocatedBytes) {
        int fd = memfdCreate();
        if (Errno.isShortage(-fd)) {
            throw failure("create", sizeBytes, "memfd_create", -fd);
        }
        if (fd < 0) {
            String why = "memfd_create: " + Errno.text(-fd);
            return createTemporaryFile(sizeBytes, allocatedBytes, why);
        }
        return shared(fd, sizeBytes, allocatedBytes, true);
    }

    /** The same in /dev/shm; {@code why} says what was refused before. */
    static SharedMemory createTemporaryFile(long sizeBytes, long allocatedBytes, String why) {
        int flags = Descriptors.O_TMPFILE | Descriptors.O_EXCL | Descriptors.O_RDWR;
        int fd = Descriptors.open(DEV_SHM, flags);
        if (Errno.isShortage(-fd)) {
            throw failure("create", sizeBytes, why + "; a file in /dev/shm", -fd);
        }
        return fd < 0 ? anonymous(sizeBytes) : shared(fd, sizeBytes, allocatedBytes, false);
    }

    /** A new file of that size, mapped; it is closed if that fails. */
    private static SharedMemory shared(int fd, long sizeBytes, long allocatedBytes, boolean seal) {
        try {
            long sized =
                    Errno.allowsFileOf(sizeBytes)
                            ? SystemCall.call(SystemCall.FTRUNCATE, fd, sizeBytes)
                            : -Errno.EFBIG;
            require(sized, "create", sizeBytes, "sizing it");
            allocate(fd, 0, allocatedBytes, !seal);
            if (seal) {
                long sealed = SystemCall.call(SystemCall.FCNTL, fd, F_ADD_SEALS, SEALS);
                require(sealed, "create", sizeBytes, "sealing");
            }
            return new SharedMemory(map(fd, sizeBytes, MAP_SHARED), sizeBytes, fd, !seal);
        } catch (RuntimeException | Error failure) {
            Descriptors.close(fd);
            throw failure;
        }
    }

    /**
     * The memory that another process of this machine made; the caller proves by its content that
     * it is the right one. {@link #fd} is -1.
     *
     * @throws NcclException with SYSTEM_ERROR if it cannot be opened or has not got that size
     */
    public static SharedMemory open(int pid, int fd, long sizeBytes) {
        String path = "/proc/" + pid + "/fd/" + fd;
        int own = Descriptors.open(path, Descriptors.O_RDWR | Descriptors.NONBLOCK);
        require(own, "open", sizeBytes, path);
        try {
            long size = SystemCall.call(SystemCall.LSEEK, own, 0, SEEK_END);
            if (size < sizeBytes) {
                throw ErrorKind.SHARED_MEMORY_FOREIGN.says(
                        "cannot open shared memory %s: it has %s bytes, not %s",
                        path, size, sizeBytes);
            }
            return new SharedMemory(map(own, sizeBytes, MAP_SHARED), sizeBytes, -1, false);
        } finally {
            Descriptors.close(own);
        }
    }

    /** New zeroed memory of this process alone; {@link #fd} is -1. */
    public static SharedMemory anonymous(long sizeBytes) {
        long address = map(-1, sizeBytes, MAP_PRIVATE | MAP_ANONYMOUS);
        return new SharedMemory(address, sizeBytes, -1, false);
    }

    /**
     * Allocates a part of memory that this process made; private memory needs no more than use.
     *
     * @throws NcclException with SYSTEM_ERROR naming the size if the system has not got that much
     */
    public void allocate(long offset, long bytes) {
        if (fd >= 0) {
            allocate(fd, offset, bytes, inDevShm);
        }
    }

    private static void allocate(int fd, long offset, long bytes, boolean inDevShm) {
        long result = SystemCall.repeated(SystemCall.FALLOCATE, fd, 0, offset, bytes);
        if (result == -Errno.ENOSPC && inDevShm) {
            File room = new File(DEV_SHM);
            throw ErrorKind.SHARED_MEMORY_REFUSED.says(
                    "cannot create %s bytes of shared memory in /dev/shm: %s; it has %s bytes, of "
                            + "which %s are free: mount a larger one (docker run --shm-size), or "
                            + "allow memfd_create",
                    bytes,
                    Errno.text(Errno.ENOSPC, ""),
                    room.getTotalSpace(),
                    room.getUsableSpace());
        }
        require(result, "create", bytes, "allocating it");
    }

    /** Unmaps it; every address in it is invalid afterwards. A second call does nothing. */
    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        SystemCall.call(SystemCall.MUNMAP, address, sizeBytes);
        if (fd >= 0) {
            Descriptors.close(fd);
        }
    }

    private static int memfdCreate() {
        try (Arena arena = Arena.ofConfined()) {
            long name = arena.allocateFrom("jccl").address();
            return (int) SystemCall.call(SystemCall.MEMFD_CREATE, name, MFD_CLOEXEC_ALLOW_SEALING);
        }
    }

    private static long map(int fd, long sizeBytes, int flags) {
        long address =
                SystemCall.call(SystemCall.MMAP, 0, sizeBytes, PROT_READ_WRITE, flags, fd, 0);
        return require(address, "map", sizeBytes, "mmap");
    }

    /** The result of a step, unless that is an error. */
    private static long require(long result, String verb, long sizeBytes, String step) {
        if (result < 0) {
            throw failure(verb, sizeBytes, step, (int) -result);
        }
        return result;
    }

    private static NcclException failure(String verb, long sizeBytes, String step, int errno) {
        return ErrorKind.SHARED_MEMORY_REFUSED.says(
                "cannot %s %s bytes of shared memory: %s: %s",
                verb, sizeBytes, step, Errno.text(errno));
    }
}
