/* The last errors of the process and NCCL's texts, which need no Java. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bridge.h"

enum { TEXT_BYTES = 1024, WORDS = TEXT_BYTES / 8, ENTRIES = 32 };

/*
 * The last failure of each thread whose calls have failed, as far as there is room, and the last
 * one that belongs to no thread. The state of an entry is twice its number, or odd while a thread
 * writes it. The thread that makes it odd owns the entry until it makes it even again (release); a
 * reader must see the same even state before and after. No thread waits for another, so that a
 * forked child, in which the writer may not exist, goes on.
 */
typedef struct {
    _Atomic uint64_t state;
    _Atomic int64_t thread; /* whose call failed, or 0 */
    _Atomic uint64_t text[WORDS];
} failure_entry;

typedef struct {
    _Alignas(64) _Atomic uint64_t last_number;
    _Alignas(64) failure_entry entry[ENTRIES];
} failure_table;

static failure_table own_failures;
/*
 * This library's table, or that of the first JCCL library in the process that has met Java. Written
 * once when Java is ready, read by every thread: release and acquire.
 */
static _Atomic(failure_table*) failures = &own_failures;

/* What this thread was shown last. */
static __thread struct {
    char text[TEXT_BYTES];
    const failure_table* from;
    uint64_t own;    /* the newest of its own failures that it was shown */
    uint64_t newest; /* the newest failure of the process then */
    bool its_own;
} shown;

static int64_t this_thread(void) {
    return syscall(SYS_gettid);
}

/*
 * Takes the entry of this thread, or else the oldest one, for writing; NULL if another thread was
 * faster.
 */
static failure_entry* place(failure_table* all, int64_t thread) {
    failure_entry* chosen = NULL;
    uint64_t state = UINT64_MAX;
    for (int i = 0; i < ENTRIES; i++) {
        failure_entry* entry = &all->entry[i];
        uint64_t now = atomic_load_explicit(&entry->state, memory_order_acquire);
        bool own = now != 0 && atomic_load_explicit(&entry->thread, memory_order_relaxed) == thread;
        if ((now & 1) == 0 && (own || now < state)) {
            chosen = entry;
            state = now;
            if (own) {
                break;
            }
        }
    }
    return chosen != NULL && atomic_compare_exchange_strong(&chosen->state, &state, state + 1)
               ? chosen
               : NULL;
}

static void put(int64_t thread, const char* text) {
    uint64_t words[WORDS] = {0};
    memcpy(words, text, strnlen(text, TEXT_BYTES - 1));
    failure_table* all = atomic_load_explicit(&failures, memory_order_acquire);
    for (int i = 0; i < ENTRIES; i++) {
        failure_entry* entry = place(all, thread);
        if (entry != NULL) {
            atomic_thread_fence(memory_order_seq_cst);
            atomic_store_explicit(&entry->thread, thread, memory_order_relaxed);
            for (int w = 0; w < WORDS; w++) {
                atomic_store_explicit(&entry->text[w], words[w], memory_order_relaxed);
            }
            uint64_t number = atomic_fetch_add(&all->last_number, 1) + 1;
            atomic_store_explicit(&entry->state, 2 * number, memory_order_release);
            return;
        }
    }
}

/*
 * Chooses the failure to show to the thread: its own last one, or the last of the process if it was
 * shown its own before and others have failed since. False if the entry changed meanwhile.
 */
static bool show(const failure_table* all, int64_t thread) {
    const failure_entry* of_thread = NULL;
    const failure_entry* of_process = NULL;
    uint64_t own = 0;
    uint64_t newest = 0;
    for (int i = 0; i < ENTRIES; i++) {
        const failure_entry* entry = &all->entry[i];
        uint64_t now = atomic_load_explicit(&entry->state, memory_order_acquire);
        if ((now & 1) == 0 && now > newest) {
            newest = now;
            of_process = entry;
        }
        if ((now & 1) == 0 && now > own &&
            atomic_load_explicit(&entry->thread, memory_order_relaxed) == thread) {
            own = now;
            of_thread = entry;
        }
    }
    if (of_process == NULL) {
        return true;
    }
    bool again = newest == shown.newest && shown.its_own;
    bool its_own = of_thread != NULL && (own > shown.own || again);
    const failure_entry* chosen = its_own ? of_thread : of_process;
    uint64_t state = its_own ? own : newest;
    uint64_t words[WORDS];
    for (int w = 0; w < WORDS; w++) {
        words[w] = atomic_load_explicit(&chosen->text[w], memory_order_relaxed);
    }
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&chosen->state, memory_order_relaxed) != state) {
        return false;
    }
    memcpy(shown.text, words, TEXT_BYTES);
    shown.own = own;
    shown.newest = newest;
    shown.its_own = its_own;
    return true;
}

static void JNICALL put_by_java(JNIEnv* env, jclass class, jbyteArray text, jboolean of_thread) {
    (void)class;
    char copy[TEXT_BYTES] = "";
    jsize length = (*env)->GetArrayLength(env, text);
    (*env)->GetByteArrayRegion(env, text, 0, length < TEXT_BYTES ? length : TEXT_BYTES - 1,
                               (jbyte*)copy);
    put(of_thread ? this_thread() : 0, copy);
}

void jccl_register_failures(JNIEnv* env) {
    static const JNINativeMethod natives[] = {{"put0", "([BZ)V", (void*)put_by_java}};
    jclass class = jccl_load_class(env, "org.jccl.log.LastError");
    if (!(*env)->ExceptionCheck(env) && class != NULL) {
        (*env)->RegisterNatives(env, class, natives, 1);
    }
    (*env)->ExceptionClear(env);
    (*env)->DeleteLocalRef(env, class);
}

/* Switches to a shared table and copies the last failure into it. */
static void use(failure_table* shared) {
    failure_table* before = atomic_exchange(&failures, shared);
    uint64_t number = atomic_load(&before->last_number);
    for (int i = 0; before != shared && i < ENTRIES; i++) {
        failure_entry* entry = &before->entry[i];
        if (number != 0 && atomic_load(&entry->state) == 2 * number) {
            char text[TEXT_BYTES];
            memcpy(text, (const void*)entry->text, TEXT_BYTES);
            put(atomic_load(&entry->thread), text);
        }
    }
}

void jccl_share_failures(JNIEnv* env) {
    jmethodID share = (*env)->GetStaticMethodID(env, jccl_class, "shareFailures", "(J)J");
    jlong own = (jlong)(intptr_t)&own_failures;
    jlong shared = share == NULL ? 0 : (*env)->CallStaticLongMethod(env, jccl_class, share, own);
    if (!(*env)->ExceptionCheck(env) && shared != 0) {
        use((failure_table*)(intptr_t)shared);
    }
    (*env)->ExceptionClear(env);
}

ncclResult_t jccl_fail(ncclResult_t result, const char* format, ...) {
    char text[TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!jccl_warn_in_java(text)) {
        put(this_thread(), text);
        jccl_log_warning(text);
    }
    return result;
}

JCCL_EXPORT const char* pncclGetLastError(ncclComm_t comm) {
    (void)comm;
    const failure_table* all = atomic_load_explicit(&failures, memory_order_acquire);
    if (shown.from != all) {
        shown.from = all;
        shown.own = shown.newest = 0;
    }
    /* The copy fails only if another thread wrote meanwhile; then the text stays what it was. */
    for (int i = 0; i < 1000 && !show(all, this_thread()); i++) {
    }
    return shown.text;
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
        return jccl_fail(
            ncclInvalidArgument,
            "ncclGetVersion : version argument is NULL; pass the address of a variable");
    }
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}
JCCL_ALIAS(pncclGetVersion) ncclResult_t ncclGetVersion(int* version);

JCCL_EXPORT const char* jcclVersionString(void) {
    return JCCL_VERSION;
}

/*
 * In NCCL both read the debug variables again; JCCL reads them at each init. No header declares the
 * second one, but NVIDIA's library exports it.
 */
JCCL_EXPORT void pncclResetDebugInit(void) {}
JCCL_ALIAS(pncclResetDebugInit) void ncclResetDebugInit(void);
void ncclResetDebugInitInternal(void);
JCCL_EXPORT void ncclResetDebugInitInternal(void) {}
