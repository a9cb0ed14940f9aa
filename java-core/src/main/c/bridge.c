/* The state of the bridge: Java is started once, threads are attached as they come. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bridge.h"

enum { IDLE, READY, FAILED };

/* Written under the lock, read by any thread: release and acquire. */
static _Atomic int state = IDLE;
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
/* Written before state is released as READY or FAILED. */
static JavaVM* vm;
static char failure[1024];
/* Has a value in threads that this library attached: they are detached when they end. */
static pthread_key_t attached;

__thread jccl_thread jccl_this;

size_t jccl_known_first;

_Atomic int jccl_jvm_gone;

void jccl_jvm_leaves(void) {
    atomic_store_explicit(&jccl_jvm_gone, 1, memory_order_relaxed);
}

static const char* const names[] = {
#define JAVA(name, method, signature, parameters, ...) "nccl" #name,
#define OPERATION(name, operation, parameters, ...) "nccl" #name,
#define HERE(name) "nccl" #name,
#define LATER(name, parameters) "nccl" #name,
#define LATER_AS(type, name, value, parameters) "nccl" #name,
#define EXTRA(name, method, signature, parameters, ...) "jccl" #name,
#define EXTRA_HERE(name) "jccl" #name,
#include "functions.def"
};

const char* jccl_function_name(int function) {
    return names[function];
}

static void detach(void* env) {
    (void)env;
    jccl_this.env = NULL;
    if (!jccl_in_forked_child() && !atomic_load_explicit(&jccl_jvm_gone, memory_order_relaxed)) {
        (*vm)->DetachCurrentThread(vm);
    }
}

static void own_this_thread(JNIEnv* env) {
    jccl_this.env = env;
    pthread_setspecific(attached, env);
}

/* Attaches this thread. If somebody else has attached it, JCCL does not detach it at its end. */
static JNIEnv* attach(void) {
    JNIEnv* env = NULL;
    jint result = (*vm)->GetEnv(vm, (void**)&env, JNI_VERSION_10);
    if (result == JNI_EDETACHED) {
        JavaVMAttachArgs arguments = {JNI_VERSION_10, NULL, NULL};
        if ((*vm)->AttachCurrentThreadAsDaemon(vm, (void**)&env, &arguments) != JNI_OK) {
            return NULL;
        }
        own_this_thread(env);
    }
    return env;
}

/*
 * Says goodbye to the peers and lets last bytes arrive. A thread that is inside a call of Java, as
 * in a signal handler that calls exit, must not call Java again.
 */
static void at_exit_of_process(void) {
    if (jccl_this.inside == 0 && !atomic_load_explicit(&jccl_jvm_gone, memory_order_relaxed)) {
        jcclShutdown();
    }
}

static const char unattached[] =
    "this thread could not be attached to the JVM: its stack may be too small (JCCL needs 512 KiB "
    "of it), or Java has no memory left (JCCL_JVM_HEAP=512m gives it more)";

/* Whether an environment variable with options for Java may set the size of threads' stacks. */
static bool may_set_stacks(const char* variable) {
    static const char* const options[] = {"-Xss", "ThreadStackSize", "VMOptionsFile", "-XX:Flags"};
    const char* given = getenv(variable);
    for (size_t i = 0; given != NULL && i < sizeof options / sizeof options[0]; i++) {
        if (strstr(given, options[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static bool start_locked(void) {
    char jar[JCCL_CLASS_PATH_BYTES];
    if (!jccl_find_jar(jar, sizeof jar, failure, sizeof failure)) {
        return false;
    }
    if (pthread_key_create(&attached, detach) != 0) {
        snprintf(failure, sizeof failure, "no thread-local key is left for JCCL");
        return false;
    }
    vm = jccl_existing_jvm();
    bool own = vm == NULL;
    if (own) {
        size_t known = jccl_first_stack();
        vm = jccl_create_jvm(jar, jccl_jvm_leaves, failure, sizeof failure);
        bool other = may_set_stacks("JCCL_JVM_OPTIONS") || may_set_stacks("JAVA_TOOL_OPTIONS");
        jccl_known_first = other ? 0 : known;
    }
    JNIEnv* env = NULL;
    if (vm != NULL && own) {
        /* The thread that made the JVM is attached, and JCCL detaches it at its end. */
        (*vm)->GetEnv(vm, (void**)&env, JNI_VERSION_10);
        if (env != NULL) {
            own_this_thread(env);
        }
        atexit(at_exit_of_process);
    } else if (vm != NULL) {
        env = attach();
    }
    if (vm == NULL) {
        return false;
    }
    jccl_save_signals();
    if (env == NULL) {
        snprintf(failure, sizeof failure, "%s", unattached);
        return false;
    }
    return jccl_open_door(env, jar, own, failure, sizeof failure);
}

/* Starts Java, unless that has been tried before. Returns whether Java is ready. */
static bool start(void) {
    /*
     * A thread that enters a JVM without threads never comes back. The lock may be held by a thread
     * of the parent.
     */
    if (jccl_find_forked_child()) {
        return false;
    }
    pthread_mutex_lock(&starting);
    int now = atomic_load_explicit(&state, memory_order_relaxed);
    if (now == IDLE) {
        jccl_guard_fork();
        now = start_locked() ? READY : FAILED;
        if (vm == NULL) {
            jccl_unguard_fork();
        }
        if (now == FAILED) {
            jccl_this.env = NULL;
        }
        atomic_store_explicit(&state, now, memory_order_release);
    }
    pthread_mutex_unlock(&starting);
    return now == READY;
}

static ncclResult_t refuse_in_child(void) {
    return jccl_fail(ncclInvalidUsage,
                     "NCCL calls are not possible in a child made by fork after JCCL was used: "
                     "start processes with multiprocessing's 'spawn', or run the ranks by python "
                     "-m jccl.run");
}

/* Measured again when it seems short: the main thread's stack grows when its limit is raised. */
static void measure_stack(void) {
    pthread_attr_t attributes;
    void* lowest = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        if (pthread_attr_getstack(&attributes, &lowest, &size) == 0) {
            jccl_this.first = syscall(SYS_gettid) == getpid();
            bool more = jccl_this.first && jccl_known_first != 0 && size > jccl_known_first;
            jccl_this.stack = (uintptr_t)lowest;
            jccl_this.stack_size = size;
            jccl_this.refused = JCCL_STACK_LEFT + (more ? size - jccl_known_first : 0);
        }
        pthread_attr_destroy(&attributes);
    }
}

JNIEnv* jccl_enter_slowly(ncclResult_t* why) {
    if (jccl_in_forked_child()) {
        *why = refuse_in_child();
        return NULL;
    }
    if (jccl_this.stack == 0 || jccl_too_deep()) {
        measure_stack();
        if (jccl_too_deep()) {
            *why = jccl_fail(ncclSystemError, "%s", jccl_no_stack);
            return NULL;
        }
    }
    int now = atomic_load_explicit(&state, memory_order_acquire);
    if (now == FAILED || (now == IDLE && !start())) {
        *why =
            jccl_in_forked_child() ? refuse_in_child() : jccl_fail(ncclSystemError, "%s", failure);
        return NULL;
    }
    if (now == IDLE && jccl_this.first) {
        /* Now it is known what Java takes this stack for. */
        measure_stack();
    }
    if (atomic_load_explicit(&jccl_jvm_gone, memory_order_relaxed)) {
        *why = jccl_fail(ncclSystemError,
                         "who started Java in this process has ended it, and all communicators "
                         "with it: end Java after the last NCCL call");
        return NULL;
    }
    JNIEnv* env = attach();
    if (env == NULL) {
        *why = jccl_fail(ncclSystemError, "%s", unattached);
    }
    return env;
}

bool jccl_ready(void) {
    return atomic_load_explicit(&state, memory_order_acquire) == READY && !jccl_in_forked_child() &&
           !atomic_load_explicit(&jccl_jvm_gone, memory_order_relaxed);
}

bool jccl_warn_in_java(const char* text) {
    JNIEnv* env = NULL;
    if (jccl_too_deep() || !jccl_ready() || jccl_warn_method == NULL ||
        (*vm)->GetEnv(vm, (void**)&env, JNI_VERSION_10) != JNI_OK) {
        return false;
    }
    jccl_this.inside++;
    (*env)->CallStaticVoidMethod(env, jccl_class, jccl_warn_method, (jlong)(intptr_t)text);
    jccl_this.inside--;
    bool thrown = (*env)->ExceptionCheck(env);
    (*env)->ExceptionClear(env);
    return !thrown;
}

ncclResult_t jccl_thrown(JNIEnv* env, int function) {
    const char* exhausted = jccl_exhausted(env);
    if (exhausted != NULL) {
        return jccl_fail(ncclSystemError, "%s: %s", names[function], exhausted);
    }
    char text[768];
    jccl_take_exception(env, text, sizeof text);
    return jccl_fail(ncclInternalError, "%s: %s", names[function], text);
}

ncclResult_t jccl_missing(int function) {
    return jccl_fail(ncclInternalError, "%s: JCCL's jar has no method for it", names[function]);
}

JCCL_EXPORT ncclResult_t jcclJavaStart(void) {
    ncclResult_t why = ncclSuccess;
    jccl_enter_slowly(&why);
    return why;
}

JCCL_EXPORT int jcclJavaStarted(void) {
    return jccl_ready() ? 1 : 0;
}

JCCL_EXPORT ncclResult_t jcclShutdown(void) {
    ncclResult_t why = ncclSuccess;
    if (!jccl_ready()) {
        return ncclSuccess;
    }
    JNIEnv* env = jccl_enter_slowly(&why);
    if (env == NULL || jccl_shutdown_method == NULL) {
        return why;
    }
    jccl_this.inside++;
    jint result = (*env)->CallStaticIntMethod(env, jccl_class, jccl_shutdown_method);
    jccl_this.inside--;
    return (*env)->ExceptionCheck(env) ? jccl_thrown(env, JCCL_FN_Shutdown) : (ncclResult_t)result;
}
