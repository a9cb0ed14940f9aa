/*
 * The JVM prints one line about its incubator module when it starts, and no option silences it. So
 * standard error goes to a file in memory while the JVM starts; afterwards everything but that line
 * is written to standard error. A file never blocks a writer, as a pipe could.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bridge.h"

static const char unwanted[] = "WARNING: Using incubator modules: jdk.incubator.vector\n";

/* Only the thread that starts Java writes these; a forked child and the exit hook read them. */
static _Atomic int saved = -1;
static int captured = -1;

static void write_all(int fd, const char* bytes, size_t length) {
    while (length > 0) {
        ssize_t n = write(fd, bytes, length);
        if (n < 0 && errno == EAGAIN) {
            usleep(1000);
        } else if (n < 0 && errno != EINTR) {
            return;
        } else if (n > 0) {
            bytes += n;
            length -= (size_t)n;
        }
    }
}

void jccl_capture_begin(void) {
    int file = memfd_create("jccl-stderr", MFD_CLOEXEC);
    /* A file in memory does not lock its position: two writers would write to one place. */
    if (file >= 0) {
        fcntl(file, F_SETFL, O_APPEND);
    }
    int copy = file < 0 ? -1 : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (copy < 0 || dup2(file, STDERR_FILENO) < 0) {
        if (copy >= 0) {
            close(copy);
        }
        if (file >= 0) {
            close(file);
        }
        return;
    }
    captured = file;
    atomic_store(&saved, copy);
}

/* Writes what the file holds from this place on to standard error; returns the new end. */
static off_t replay(int file, off_t from, int target) {
    struct stat status;
    if (fstat(file, &status) != 0 || status.st_size <= from) {
        return from;
    }
    size_t length = (size_t)(status.st_size - from);
    char* bytes = malloc(length);
    ssize_t n = bytes == NULL ? -1 : pread(file, bytes, length, from);
    if (n > 0) {
        char* line = memmem(bytes, (size_t)n, unwanted, sizeof unwanted - 1);
        char* rest = line == NULL ? bytes : line + sizeof unwanted - 1;
        if (line != NULL) {
            write_all(target, bytes, (size_t)(line - bytes));
        }
        write_all(target, rest, (size_t)(bytes + n - rest));
    }
    free(bytes);
    return n > 0 ? from + n : from;
}

void jccl_capture_end(void) {
    int copy = atomic_exchange(&saved, -1);
    if (copy < 0) {
        return;
    }
    off_t seen = replay(captured, 0, copy);
    dup2(copy, STDERR_FILENO);
    /* Another thread may still be inside a write that began before. */
    off_t before;
    do {
        before = seen;
        usleep(1000);
        seen = replay(captured, seen, copy);
    } while (seen != before);
    close(captured);
    close(copy);
}

void jccl_capture_after_fork(void) {
    int copy = atomic_exchange(&saved, -1);
    if (copy >= 0) {
        dup2(copy, STDERR_FILENO);
        close(copy);
        close(captured);
    }
}
