/* The functions and variables that the parts of the bridge share. None of them is exported. */
#ifndef JCCL_BRIDGE_H_
#define JCCL_BRIDGE_H_

#include <jni.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jccl.h"
#include "nccl_device.h"

#ifndef JCCL_VERSION
#error "JCCL_VERSION is given by the Makefile"
#endif

/* JCCL's classes are compiled for this release. */
#define JCCL_OLDEST_JAVA 25

#define JCCL_EXPORT __attribute__((visibility("default")))
#define JCCL_ALIAS(name) __attribute__((visibility("default"), weak, alias(#name)))
#define JCCL_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Numbers of all functions, in the order of the table. */
#define JAVA(name, method, signature, parameters, ...) JCCL_FN_##name,
#define OPERATION(name, operation, parameters, ...) JCCL_FN_##name,
#define HERE(name) JCCL_FN_##name,
#define LATER(name, parameters) JCCL_FN_##name,
#define LATER_AS(type, name, value, parameters) JCCL_FN_##name,
#define EXTRA(name, method, signature, parameters, ...) JCCL_FN_##name,
#define EXTRA_HERE(name) JCCL_FN_##name,
enum {
#include "functions.def"
    JCCL_FUNCTIONS
};
#undef JAVA
#undef OPERATION
#undef HERE
#undef LATER
#undef LATER_AS
#undef EXTRA
#undef EXTRA_HERE

/* ---- error.c: the last errors, which work without Java ---- */

/* Makes a sentence the last error and a WARN line of the log; returns result. */
ncclResult_t jccl_fail(ncclResult_t result, const char* format, ...)
    __attribute__((format(printf, 2, 3)));
/* Registers the native method of org.jccl.log.LastError: Java's failures come here, too. */
void jccl_register_failures(JNIEnv* env);
/* From now on the last errors are those of the first library that has registered it. */
void jccl_share_failures(JNIEnv* env);

/* ---- log.c ---- */

/* Prints a WARN line if NCCL_DEBUG asks for it; for code that cannot let Java print it. */
void jccl_log_warning(const char* text);

/* ---- jdk.c: finding a Java installation ---- */

typedef struct {
    char home[4096];   /* the installation, without a trailing slash */
    bool vector;       /* whether it has the module jdk.incubator.vector */
    char reason[1024]; /* if none was found: a sentence */
} jccl_jdk;

/*
 * Finds the newest fitting installation, in the documented order; false with a reason if there is
 * none.
 */
bool jccl_find_jdk(jccl_jdk* jdk);

/* ---- jvm.c: making the JVM ---- */

/* Of a class path, with the zero at its end. */
enum { JCCL_CLASS_PATH_BYTES = 16384 };

/*
 * Finds the class path: JCCL_JAR, or the jar beside this library and those of the package jccl-cuda
 * there; false with a reason.
 */
bool jccl_find_jar(char* path, size_t size, char* reason, size_t reason_size);
/* How much of the first thread's stack a JVM that JCCL makes is to know. */
size_t jccl_first_stack(void);
/* A JVM that already runs in this process, or NULL. */
JavaVM* jccl_existing_jvm(void);
/*
 * Whether this process was forked from one with a JVM, so that it has the memory of that JVM but
 * none of its threads. False if that cannot be known.
 */
bool jccl_jvm_is_copy(void);
/* Makes the JVM of this process; NULL with a reason. The JVM calls leaving when it ends itself. */
JavaVM* jccl_create_jvm(const char* jar, void (*leaving)(void), char* reason, size_t reason_size);

/* ---- door.c: the class org.jccl.abi.NcclApi ---- */

/*
 * Finds the class, checks its version and looks its methods up; false with a reason.
 * own: the JVM was made by this library, so that the class must be on its class path.
 */
bool jccl_open_door(JNIEnv* env, const char* jar, bool own, char* reason, size_t reason_size);
/*
 * Finds another class of JCCL by its name with dots, without initialising it; NULL, perhaps with an
 * exception.
 */
jclass jccl_load_class(JNIEnv* env, const char* name);
/*
 * If the pending exception says that Java ran out of memory or stack, clears it and returns a
 * sentence; else NULL, and the exception stays.
 */
const char* jccl_exhausted(JNIEnv* env);
/* The sentences for want of memory, of stack and of anything better. */
extern const char* const jccl_no_memory;
extern const char* const jccl_no_stack;
extern const char* const jccl_no_reason;
/* Clears the pending exception and copies its text. */
void jccl_take_exception(JNIEnv* env, char* text, size_t size);

/*
 * Written once before the bridge is ready, read by all threads afterwards. A missing method is
 * NULL.
 */
extern jclass jccl_class;
extern jmethodID jccl_methods[JCCL_FUNCTIONS];
extern jmethodID jccl_warn_method;
extern jmethodID jccl_operation_method;
extern jmethodID jccl_stub_method;
extern jmethodID jccl_shutdown_method;

/* ---- bridge.c: state, threads ---- */

/* State of this thread. */
typedef struct {
    JNIEnv* env; /* if this library has attached the thread; else NULL */
    int inside;  /* calls into Java that have not returned */
    /* Lowest address of its stack, 0 if it is not known; then no call is refused. */
    uintptr_t stack;
    size_t stack_size;
    /* In so many bytes from there on calls are refused. */
    size_t refused;
    bool first; /* whether it is the first thread of the process */
} jccl_thread;

/*
 * A call is refused if less stack than this is left: it could run out of stack in the middle, which
 * ends the communicator. Java keeps some 100 KiB of the stack for itself.
 */
enum { JCCL_STACK_LEFT = 256 << 10 };

extern __thread jccl_thread jccl_this;

/* How much of the first thread's stack Java knows; 0 while that is not known. */
extern size_t jccl_known_first;

/* Set once, when the JVM ends. A thread that enters the JVM afterwards never returns. */
extern _Atomic int jccl_jvm_gone;
void jccl_jvm_leaves(void);

/* The environment of this thread; starts Java if need be. NULL with *why and the last error. */
JNIEnv* jccl_enter_slowly(ncclResult_t* why);
/* Whether Java runs and may be called from this process. */
bool jccl_ready(void);
/* Gives a sentence to Java, which logs it and makes it the last error; false if Java cannot. */
bool jccl_warn_in_java(const char* text);
/* The result of a call that left an exception pending. */
ncclResult_t jccl_thrown(JNIEnv* env, int function);
/* The result of a call whose method the jar does not have. */
ncclResult_t jccl_missing(int function);
/* The name of a function as in C. */
const char* jccl_function_name(int function);

/* ---- api.c ---- */

/* What NcclApi.operation returns instead of throwing. */
enum { JCCL_NO_MEMORY = -1, JCCL_NO_STACK = -2, JCCL_NOT_KNOWN = -3 };

/* Whether too little is left of the stack for a call. */
bool jccl_too_deep(void);

/* ---- fork.c ---- */

/* Registers the handlers by which a child made by fork is recognised. */
void jccl_guard_fork(void);
/* Ends that, because no JVM was made after all: forked children may make calls. */
void jccl_unguard_fork(void);
/* Whether this process is known as a child made by fork after Java was started. */
bool jccl_in_forked_child(void);
/*
 * The same, after a look at the process: other code may have started Java, or this library may have
 * been loaded after the fork.
 */
bool jccl_find_forked_child(void);
/* Registers the natives of org.jccl.platform.ForkGuard, if the class exists. */
void jccl_register_fork_guard(JNIEnv* env);

/* ---- capture.c: standard error while the JVM starts ---- */

void jccl_capture_begin(void);
void jccl_capture_end(void);
/* In a forked child: gives standard error back if the parent forked during a capture. */
void jccl_capture_after_fork(void);

/* ---- signals.c ---- */

/*
 * A new JVM ignores SIGPIPE and SIGXFSZ, whatever the host has done with them. JCCL's own writes
 * raise neither, so JCCL notes the host's handlers before the start and puts them back after it.
 */
typedef struct {
    struct sigaction action[2];
} jccl_host_signals;
void jccl_note_signals(jccl_host_signals* noted);
void jccl_return_signals(const jccl_host_signals* noted);
/* Remembers the handlers that the JVM has installed. */
void jccl_save_signals(void);

#endif
