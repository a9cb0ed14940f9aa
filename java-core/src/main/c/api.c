/* The functions that NcclApi answers: one JNI call each. */
#include "bridge.h"

/*
 * A signal handler or a coroutine may run on a stack of its own. Its addresses lie outside of the
 * thread's stack, nothing is known of it, and no call is refused.
 */
bool jccl_too_deep(void) {
    return (uintptr_t)__builtin_frame_address(0) - jccl_this.stack < JCCL_STACK_LEFT;
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
