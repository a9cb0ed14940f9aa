/*
 * Compiled Java code relies on SIGSEGV (null checks, safepoints), SIGBUS, SIGFPE and SIGILL. A
 * guest must live with hosts that set these signals later, such as Python's faulthandler.
 */
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "bridge.h"

enum { SIGNALS = 4 };
static const int numbers[SIGNALS] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

/* Written once by the thread that starts Java before saved is released, read by any. */
static struct sigaction of_jvm[SIGNALS];
static _Atomic int saved;

static const int of_host[2] = {SIGPIPE, SIGXFSZ};

void jccl_note_signals(jccl_host_signals* noted) {
    for (int i = 0; i < 2; i++) {
        sigaction(of_host[i], NULL, &noted->action[i]);
    }
}

void jccl_return_signals(const jccl_host_signals* noted) {
    for (int i = 0; i < 2; i++) {
        sigaction(of_host[i], &noted->action[i], NULL);
    }
}

void jccl_save_signals(void) {
    for (int i = 0; i < SIGNALS; i++) {
        if (sigaction(numbers[i], NULL, &of_jvm[i]) != 0) {
            return;
        }
    }
    atomic_store_explicit(&saved, 1, memory_order_release);
}

JCCL_EXPORT int jcclRestoreSignals(void) {
    int replaced = 0;
    if (!atomic_load_explicit(&saved, memory_order_acquire) || jccl_in_forked_child()) {
        return 0;
    }
    for (int i = 0; i < SIGNALS; i++) {
        struct sigaction now;
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_sigaction != of_jvm[i].sa_sigaction &&
            sigaction(numbers[i], &of_jvm[i], NULL) == 0) {
            replaced++;
        }
    }
    return replaced;
}
