/*
 * Faults for tests. Java finds "syscall" by dlsym. If this library is preloaded, Java gets a
 * function of this library instead, which lets a chosen system call of JCCL fail, or kills or stops
 * the process at the call. It leaves the system calls of other code alone. The library can also
 * refuse new threads, and it keeps a ledger of JCCL's descriptors and mappings.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define CONTROL 0x4a43434cL
#define MAX_FDS 65536
#define MAX_MAPS 65536

enum { ARM = 1, DISARM, FDS, MAPS, WRONG, CLOCK, LIMIT };
enum { FAIL = 1, KILL, STOP };
/* Which calls a fault counts. */
enum {
    ANY = -1,
    DESCRIPTORS = -2,
    MEMORY = -3,
    SHARED = -4,
    WATCHES = -5,
    THREADS = -6,
    ALLOCATIONS = -7,
    MEMFDS = -8,
    READS = -9,
    POLLS = -10
};

typedef long (*syscall_fn)(long, long, long, long, long, long, long);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char open_fds[MAX_FDS];
static struct {
    long address, bytes;
} maps[MAX_MAPS];
static long n_fds, n_maps, wrong;
static long action, which, left, error, times, fired;
static volatile long clock_offset_s;

/* Whether the thread has armed a fault. */
static __thread int arms;

static int makes_descriptor(long n) {
    return n == SYS_socket || n == SYS_accept4 || n == SYS_openat || n == SYS_memfd_create ||
           n == SYS_eventfd2 || n == SYS_epoll_create1 || n == SYS_pidfd_open;
}

static int counts(long n) {
    switch (which) {
        case ANY:
            return n != SYS_sched_yield && n != SYS_gettid && n != THREADS;
        case DESCRIPTORS:
            return makes_descriptor(n);
        case MEMORY:
            return n == SYS_mmap || n == SYS_fallocate;
        case SHARED:
            return n == SYS_memfd_create || n == SYS_openat;
        case WATCHES:
            return n == SYS_epoll_ctl;
        case ALLOCATIONS:
            return n == SYS_fallocate;
        case MEMFDS:
            return n == SYS_memfd_create;
        case READS:
            return n == SYS_process_vm_readv;
        case POLLS:
            return n == SYS_ppoll && arms;
        default:
            return n == which;
    }
}

/* What to do at this call: 0, or an action. */
static long due(long n) {
    long what = 0;
    pthread_mutex_lock(&lock);
    if (action && counts(n) && --left <= 0) {
        what = action;
        fired++;
        if (--times == 0) {
            action = 0;
        }
    }
    pthread_mutex_unlock(&lock);
    return what;
}

static void arm(long what, long number, long nth, long e, long often) {
    arms = 1;
    pthread_mutex_lock(&lock);
    action = what;
    which = number;
    left = nth;
    error = e;
    times = often;
    fired = 0;
    pthread_mutex_unlock(&lock);
}

static long disarm(void) {
    pthread_mutex_lock(&lock);
    action = 0;
    long was = fired;
    pthread_mutex_unlock(&lock);
    return was;
}

static long control(long op, long a, long b, long c, long d, long e) {
    switch (op) {
        case ARM:
            arm(a, b, c, d, e);
            return 0;
        case DISARM:
            return disarm();
        case FDS:
            return n_fds;
        case MAPS:
            return n_maps;
        case WRONG:
            return wrong;
        case CLOCK:
            clock_offset_s += a;
            return 0;
        default:
            return -1;
    }
}

static void forget(long n, long a, long b) {
    int known = 1;
    pthread_mutex_lock(&lock);
    if (n == SYS_close) {
        known = a >= 0 && a < MAX_FDS && open_fds[a];
        if (known) {
            open_fds[a] = 0;
            n_fds--;
        }
    } else {
        known = 0;
        for (long i = 0; i < n_maps && !known; i++) {
            if (maps[i].address == a && maps[i].bytes == b) {
                maps[i] = maps[--n_maps];
                known = 1;
            }
        }
    }
    wrong += !known;
    pthread_mutex_unlock(&lock);
    if (!known) {
        fprintf(stderr, "faults: call %ld frees %ld (%ld), which is not held\n", n, a, b);
    }
}

static void remember(long n, long result, long bytes) {
    pthread_mutex_lock(&lock);
    if (n == SYS_mmap && n_maps < MAX_MAPS) {
        maps[n_maps].address = result;
        maps[n_maps++].bytes = bytes;
    } else if (makes_descriptor(n) && result < MAX_FDS && !open_fds[result]) {
        open_fds[result] = 1;
        n_fds++;
    }
    pthread_mutex_unlock(&lock);
}

static long faulty(long n, long a, long b, long c, long d, long e, long f) {
    if (n == CONTROL) {
        return control(a, b, c, d, e, f);
    }
    /* By raise, since of a signal to the process another thread may learn first. */
    switch (due(n)) {
        case FAIL:
            errno = (int)error;
            return -1;
        case KILL:
            raise(SIGKILL);
            break;
        case STOP:
            raise(SIGSTOP);
            break;
        default:
            break;
    }
    if (n == SYS_close || n == SYS_munmap) {
        forget(n, a, b);
    }
    long result = syscall(n, a, b, c, d, e, f);
    int saved = errno;
    if (result >= 0 && (n == SYS_mmap || makes_descriptor(n))) {
        remember(n, result, b);
    }
    errno = saved;
    return result;
}

void* dlsym(void* restrict handle, const char* restrict name) {
    static void* (*real)(void*, const char*);
    if (!real) {
        void* found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
        if (!found) {
            found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
        }
        if (!found) {
            found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.17");
        }
        memcpy(&real, &found, sizeof real);
    }
    if (strcmp(name, "syscall") == 0) {
        syscall_fn mine = faulty;
        void* pointer;
        memcpy(&pointer, &mine, sizeof pointer);
        return pointer;
    }
    return real(handle, name);
}

/* Counts the threads of all code in the process: the system refuses a thread to all alike. */
int pthread_create(pthread_t* restrict thread, const pthread_attr_t* restrict attributes,
                   void* (*start)(void*), void* restrict argument) {
    typedef int (*create_fn)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    if (due(THREADS)) {
        return (int)error;
    }
    void* found = dlsym(RTLD_NEXT, "pthread_create");
    create_fn create;
    memcpy(&create, &found, sizeof create);
    return create(thread, attributes, start, argument);
}

/* The wall clock can jump; the monotonic one is the system's. */
int clock_gettime(clockid_t clock, struct timespec* now) {
    long result = syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && clock == CLOCK_REALTIME) {
        now->tv_sec += clock_offset_s;
    }
    return (int)result;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
    (void)zone;
    struct timespec fine;
    int result = clock_gettime(CLOCK_REALTIME, &fine);
    now->tv_sec = fine.tv_sec;
    now->tv_usec = fine.tv_nsec / 1000;
    return result;
}
