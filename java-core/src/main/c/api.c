/* The functions that NcclApi answers: one JNI call each, or a call of Java's stub. */
#include "bridge.h"

/*
 * A signal handler or a coroutine may run on a stack of its own. Its addresses lie outside of the
 * thread's stack, nothing is known of it, and no call is refused.
 */
bool jccl_too_deep(void) {
    return (uintptr_t)__builtin_frame_address(0) - jccl_this.stack < jccl_this.refused;
}

/* The environment of this thread. Only its first call has to find it by jccl_enter_slowly. */
static inline JNIEnv* enter(ncclResult_t* why) {
    JNIEnv* env = jccl_this.env;
    bool gone = atomic_load_explicit(&jccl_jvm_gone, memory_order_relaxed) != 0;
    return JCCL_UNLIKELY(env == NULL || gone || jccl_too_deep()) ? jccl_enter_slowly(why) : env;
}

#define P(x) ((jlong)(intptr_t)(x))
#define L(x) ((jlong)(x))
#define I(x) ((jint)(x))

#define FORWARD(function, ...)                                                               \
    ncclResult_t why;                                                                        \
    JNIEnv* env = enter(&why);                                                               \
    if (JCCL_UNLIKELY(env == NULL)) {                                                        \
        return why;                                                                          \
    }                                                                                        \
    if (JCCL_UNLIKELY(jccl_methods[function] == NULL)) {                                     \
        return jccl_missing(function);                                                       \
    }                                                                                        \
    jccl_this.inside++;                                                                      \
    jint result =                                                                            \
        (*env)->CallStaticIntMethod(env, jccl_class, jccl_methods[function], ##__VA_ARGS__); \
    jccl_this.inside--;                                                                      \
    if (JCCL_UNLIKELY((*env)->ExceptionCheck(env))) {                                        \
        return jccl_thrown(env, function);                                                   \
    }                                                                                        \
    return (ncclResult_t)result;

/*
 * Calls NcclApi.operation without the cost of JNI. Java makes it, beside its callers, after so many
 * operations. An exception that left it would end the process, so there is none.
 */
enum { FREQUENT = 20000 };
typedef jint (*stub)(jint, jlong, jlong, jlong, jint, jint, jint, jlong, jlong);
static _Atomic(stub) operation_stub;

static _Atomic int through_jni;

static void note_jni_call(JNIEnv* env) {
    if (atomic_load_explicit(&through_jni, memory_order_relaxed) < FREQUENT &&
        atomic_fetch_add_explicit(&through_jni, 1, memory_order_relaxed) == FREQUENT - 1 &&
        jccl_stub_method != NULL) {
        (*env)->CallStaticVoidMethod(env, jccl_class, jccl_stub_method, P(&operation_stub));
        (*env)->ExceptionClear(env);
    }
}

/*
 * Whether the stub may be called. Through JNI Java refuses a call for which it finds too little of
 * the stack; a stub does not look, so it is called only where both know the stack alike. A call
 * inside a call, as from a signal handler, finds the thread in a state that only JNI lets pass.
 */
static inline bool may_call_stub(void) {
    return (uintptr_t)__builtin_frame_address(0) - jccl_this.stack < jccl_this.stack_size &&
           (!jccl_this.first || jccl_known_first != 0) && jccl_this.inside == 0 &&
           jccl_this.env != NULL;
}

/* What NcclApi.operation could not tell by itself. */
static ncclResult_t unanswered(int function, jint result) {
    const char* what = result == JCCL_NO_MEMORY  ? jccl_no_memory
                       : result == JCCL_NO_STACK ? jccl_no_stack
                                                 : jccl_no_reason;
    return jccl_fail(result == JCCL_NOT_KNOWN ? ncclInternalError : ncclSystemError, "%s: %s",
                     jccl_function_name(function), what);
}

/* The parameters are those of NcclApi.operation, after the function that was called. */
static inline ncclResult_t operate(int function, jint operation, jlong input, jlong output,
                                   jlong count, jint type, jint reduction, jint root, jlong comm,
                                   jlong stream) {
    ncclResult_t why;
    JNIEnv* env = enter(&why);
    if (JCCL_UNLIKELY(env == NULL)) {
        return why;
    }
    stub fast = atomic_load_explicit(&operation_stub, memory_order_acquire);
    jint result;
    if (fast != NULL && may_call_stub()) {
        jccl_this.inside++;
        result = fast(operation, input, output, count, type, reduction, root, comm, stream);
        jccl_this.inside--;
    } else {
        if (jccl_operation_method == NULL) {
            return jccl_missing(function);
        }
        jccl_this.inside++;
        note_jni_call(env);
        result =
            (*env)->CallStaticIntMethod(env, jccl_class, jccl_operation_method, operation, input,
                                        output, count, type, reduction, root, comm, stream);
        jccl_this.inside--;
        if (JCCL_UNLIKELY((*env)->ExceptionCheck(env))) {
            return jccl_thrown(env, function);
        }
    }
    return JCCL_UNLIKELY(result < 0) ? unanswered(function, result) : (ncclResult_t)result;
}

#define OPERATION(name, operation, parameters, ...)                   \
    JCCL_EXPORT ncclResult_t pnccl##name parameters {                 \
        return operate(JCCL_FN_##name, jccl##operation, __VA_ARGS__); \
    }                                                                 \
    JCCL_ALIAS(pnccl##name) ncclResult_t nccl##name parameters;
#define JAVA(name, method, signature, parameters, ...)                  \
    JCCL_EXPORT ncclResult_t pnccl##name parameters{                    \
        FORWARD(JCCL_FN_##name, ##__VA_ARGS__)} JCCL_ALIAS(pnccl##name) \
        ncclResult_t nccl##name parameters;
#define EXTRA(name, method, signature, parameters, ...) \
    JCCL_EXPORT ncclResult_t jccl##name parameters {    \
        FORWARD(JCCL_FN_##name, ##__VA_ARGS__)          \
    }
#define HERE(name)
#define LATER(name, parameters)
#define LATER_AS(type, name, value, parameters)
#define EXTRA_HERE(name)
#include "functions.def"
