/* The functions that are not done yet: each says so and does nothing else. */
#include <stdatomic.h>

#include "bridge.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

static ncclResult_t not_yet(int function) {
    ncclResult_t why = ncclSuccess;
    if (jccl_find_forked_child() && jccl_enter_slowly(&why) == NULL) {
        return why;
    }
    return jccl_fail(ncclInvalidUsage, "%s is not done yet in JCCL %s; see DIFFERENCES.md",
                     jccl_function_name(function), JCCL_VERSION);
}

/* A function without a result code warns at its first call only. */
static void not_yet_once(int function) {
    static _Atomic char told[JCCL_FUNCTIONS];
    if (atomic_exchange_explicit(&told[function], 1, memory_order_relaxed) == 0) {
        not_yet(function);
    }
}

#define LATER(name, parameters)                       \
    JCCL_EXPORT ncclResult_t pnccl##name parameters { \
        return not_yet(JCCL_FN_##name);               \
    }                                                 \
    JCCL_ALIAS(pnccl##name) ncclResult_t nccl##name parameters;
#define LATER_AS(type, name, value, parameters) \
    JCCL_EXPORT type pnccl##name parameters {   \
        not_yet_once(JCCL_FN_##name);           \
        return value;                           \
    }                                           \
    JCCL_ALIAS(pnccl##name) type nccl##name parameters;
#define JAVA(name, method, signature, parameters, ...)
#define EXTRA(name, method, signature, parameters, ...)
#define OPERATION(name, operation, parameters, ...)
#define HERE(name)
#define EXTRA_HERE(name)
#include "functions.def"
