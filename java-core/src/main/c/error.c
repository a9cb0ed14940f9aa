/* The last error of the process and NCCL's texts: what answers without Java. */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bridge.h"

enum { LAST_ERROR_BYTES = 1024 };

static char own_buffer[LAST_ERROR_BYTES];
/* Written once when Java is ready, read by every thread: release and acquire. */
static _Atomic(char*) last_error = own_buffer;

static void set_last_error(const char* text) {
    char* buffer = atomic_load_explicit(&last_error, memory_order_acquire);
    size_t length = strnlen(text, LAST_ERROR_BYTES - 1);
    /* Two threads may write at once; the last byte stays 0 whatever they do. */
    memmove(buffer, text, length);
    buffer[length] = '\0';
}

void jccl_move_last_error(char* buffer) {
    if (buffer != NULL) {
        memcpy(buffer, own_buffer, LAST_ERROR_BYTES);
        atomic_store_explicit(&last_error, buffer, memory_order_release);
    }
}

static bool warnings_wanted(void) {
    const char* level = getenv("NCCL_DEBUG");
    return level != NULL && (strcasecmp(level, "WARN") == 0 || strcasecmp(level, "ATTN") == 0 ||
                             strcasecmp(level, "INFO") == 0 || strcasecmp(level, "ABORT") == 0 ||
                             strcasecmp(level, "TRACE") == 0);
}

/* As Java's log prints it, save that NCCL_DEBUG_FILE is not looked at. */
static void print_warning(const char* text) {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    printf("\n%s:%d:%ld [-1] NCCL WARN %s\n", host, (int)getpid(), (long)syscall(SYS_gettid), text);
    fflush(stdout);
}

ncclResult_t jccl_fail(ncclResult_t result, const char* format, ...) {
    char text[LAST_ERROR_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!jccl_warn_in_java(text)) {
        set_last_error(text);
        if (warnings_wanted()) {
            print_warning(text);
        }
    }
    return result;
}

JCCL_EXPORT const char* pncclGetLastError(ncclComm_t comm) {
    (void)comm;
    return atomic_load_explicit(&last_error, memory_order_acquire);
}
JCCL_ALIAS(pncclGetLastError) const char* ncclGetLastError(ncclComm_t comm);

JCCL_EXPORT const char* pncclGetErrorString(ncclResult_t result) {
    switch (result) {
        case ncclSuccess:
            return "no error";
        case ncclUnhandledCudaError:
            return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
        case ncclSystemError:
            return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
        case ncclInternalError:
            return "internal error - please report this issue to the NCCL developers";
        case ncclInvalidArgument:
            return "invalid argument (run with NCCL_DEBUG=WARN for details)";
        case ncclInvalidUsage:
            return "invalid usage (run with NCCL_DEBUG=WARN for details)";
        case ncclRemoteError:
            return "remote process exited or there was a network error";
        case ncclInProgress:
            return "NCCL operation in progress";
        case ncclTimeout:
            return "timeout";
        default:
            return "unknown result code";
    }
}
JCCL_ALIAS(pncclGetErrorString) const char* ncclGetErrorString(ncclResult_t result);

JCCL_EXPORT ncclResult_t pncclGetVersion(int* version) {
    if (version == NULL) {
        return jccl_fail(ncclInvalidArgument, "ncclGetVersion: version is NULL");
    }
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}
JCCL_ALIAS(pncclGetVersion) ncclResult_t ncclGetVersion(int* version);

JCCL_EXPORT const char* jcclVersionString(void) {
    return JCCL_VERSION;
}

/*
 * Both re-read the debug variables in NCCL; JCCL reads them at each init. The second is no function
 * of a header, but NVIDIA's library exports it.
 */
JCCL_EXPORT void pncclResetDebugInit(void) {}
JCCL_ALIAS(pncclResetDebugInit) void ncclResetDebugInit(void);
void ncclResetDebugInitInternal(void);
JCCL_EXPORT void ncclResetDebugInitInternal(void) {}
