/*
 * The JVM prints one line about its incubator module when it starts, and no option silences it. So
 * standard error goes to a file in memory for these milliseconds; afterwards everything else is
 * written where it belongs. A file never blocks a writer, as a pipe could.
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

/* The bytes of the file, 0-terminated, or NULL. */
static char* read_back(int file, size_t* length) {
    struct stat status;
    if (fstat(file, &status) != 0 || status.st_size == 0) {
        return NULL;
    }
    char* bytes = malloc((size_t)status.st_size + 1);
    if (bytes == NULL) {
        return NULL;
    }
    ssize_t n = pread(file, bytes, (size_t)status.st_size, 0);
    *length = n < 0 ? 0 : (size_t)n;
    bytes[*length] = '\0';
    return bytes;
}

void jccl_capture_end(void) {
    int copy = atomic_exchange(&saved, -1);
    if (copy < 0) {
        return;
    }
    dup2(copy, STDERR_FILENO);
    size_t length = 0;
    char* bytes = read_back(captured, &length);
    if (bytes != NULL) {
        char* line = memmem(bytes, length, unwanted, sizeof unwanted - 1);
        if (line != NULL) {
            char* rest = line + sizeof unwanted - 1;
            write_all(STDERR_FILENO, bytes, (size_t)(line - bytes));
            write_all(STDERR_FILENO, rest, length - (size_t)(rest - bytes));
        } else {
            write_all(STDERR_FILENO, bytes, length);
        }
        free(bytes);
    }
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
