/*
 * Prints warnings where Java does not run. Standard output may be a pipe that nobody reads: so a
 * thread of its own writes each line, and a call waits only a little for that thread.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bridge.h"

enum { PATIENCE_NS = 100000000, LOOK_NS = 100000, LINE_BYTES = 2048 };

/*
 * The process whose line is being written, or 0. The thread that sets it to its own process owns
 * the line until the writing thread has set it to 0 (acquire, release). A forked child may find its
 * parent's number here, and has no writing thread.
 */
static _Atomic int writing;
static struct {
    char text[LINE_BYTES];
    size_t length;
} line;
/* How many lines could not be written; any thread counts them. */
static _Atomic unsigned lost;
/* Set by a thread that waited for a line in vain, cleared by the thread that writes it. */
static _Atomic bool stalled;

static bool warnings_wanted(void) {
    const char* level = getenv("NCCL_DEBUG");
    return level != NULL && (strcasecmp(level, "WARN") == 0 || strcasecmp(level, "ATTN") == 0 ||
                             strcasecmp(level, "INFO") == 0 || strcasecmp(level, "ABORT") == 0 ||
                             strcasecmp(level, "TRACE") == 0);
}

static void* write_line(void* unused) {
    (void)unused;
    for (size_t done = 0; done < line.length;) {
        ssize_t n = write(STDOUT_FILENO, line.text + done, line.length - done);
        if (n > 0) {
            done += (size_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            struct pollfd output = {STDOUT_FILENO, POLLOUT, 0};
            poll(&output, 1, -1);
        } else if (n == 0 || errno != EINTR) {
            break;
        }
    }
    atomic_store_explicit(&stalled, false, memory_order_relaxed);
    atomic_store_explicit(&writing, 0, memory_order_release);
    return NULL;
}

/*
 * Runs in a thread that takes none of the host's signals. Returns whether there is such a thread.
 */
static bool begin_to_write(void) {
    sigset_t all;
    sigset_t before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool begun = pthread_create(&thread, NULL, write_line, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (begun) {
        pthread_detach(thread);
    }
    return begun;
}

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void look_again_later(void) {
    struct timespec pause = {0, LOOK_NS};
    nanosleep(&pause, NULL);
}

static bool own_line(int process, long long until) {
    int before = atomic_load_explicit(&writing, memory_order_relaxed);
    while (before == process ||
           !atomic_compare_exchange_weak_explicit(&writing, &before, process, memory_order_acquire,
                                                  memory_order_relaxed)) {
        if (now_ns() >= until || (before == process && stalled)) {
            return false;
        }
        if (before == process) {
            look_again_later();
            before = atomic_load_explicit(&writing, memory_order_relaxed);
        }
    }
    if (before != 0) {
        /* A child does not report the lines that its parent has lost. */
        atomic_store_explicit(&lost, 0, memory_order_relaxed);
    }
    return true;
}

/*
 * The line is that of Java's log, but without date, time and place, and with the host's whole name.
 * NCCL_DEBUG_LEVELS and NCCL_DEBUG_FILE are not looked at.
 */
static size_t compose(const char* text, unsigned gap) {
    char host[256] = "";
    char head[320];
    gethostname(host, sizeof host - 1);
    snprintf(head, sizeof head, "%s:%d:%ld [-1] NCCL WARN", host, (int)getpid(),
             (long)syscall(SYS_gettid));
    int n = 0;
    if (gap > 0) {
        n = snprintf(line.text, LINE_BYTES, "%s %u lines of the log are lost before this one\n",
                     head, gap);
    }
    n += snprintf(line.text + n, LINE_BYTES - (size_t)n, "\n%s %s\n", head, text);
    return n < LINE_BYTES ? (size_t)n : LINE_BYTES - 1;
}

void jccl_log_warning(const char* text) {
    if (!warnings_wanted()) {
        return;
    }
    int process = (int)getpid();
    long long until = now_ns() + PATIENCE_NS;
    if (!own_line(process, until)) {
        atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
        return;
    }
    unsigned gap = atomic_exchange_explicit(&lost, 0, memory_order_relaxed);
    line.length = compose(text, gap);
    if (!begin_to_write()) {
        atomic_fetch_add_explicit(&lost, gap + 1, memory_order_relaxed);
        atomic_store_explicit(&writing, 0, memory_order_release);
        return;
    }
    while (atomic_load_explicit(&writing, memory_order_relaxed) == process) {
        if (now_ns() >= until) {
            atomic_store_explicit(&stalled, true, memory_order_relaxed);
            return;
        }
        look_again_later();
    }
}
