/* A child made by fork has one thread and no JVM: every call there is refused. */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "bridge.h"

/* Set by the thread that starts Java, and cleared by it if that fails; read in the child. */
static _Atomic int guarded;
/*
 * Set in the child: by its only thread after the fork, or by a thread that finds a JVM without
 * threads.
 */
static _Atomic int forked;
/* The process that was checked and found to be no such child. It does not become one later. */
static _Atomic int looked_in;

/*
 * Descriptors whose copies a child must close: an end of a connection that lives on in a child
 * would hide the death of the parent from its peers. One bit each; set and cleared by any thread,
 * read in the child, where the memory is a snapshot.
 */
enum { WORD_BITS = sizeof(unsigned long) * CHAR_BIT, TRACKED_LIMIT = 1 << 20 };
static _Atomic unsigned long tracked[TRACKED_LIMIT / WORD_BITS];
/* One more than the highest word ever used; only grows. */
static _Atomic int tracked_words;

/*
 * A thread holds the read lock from making or closing a descriptor until it has tracked that. A
 * fork holds the write lock, so that the child knows all descriptors.
 */
static pthread_rwlock_t changing = PTHREAD_RWLOCK_INITIALIZER;
/*
 * Whether the forking thread holds it. Only that thread reads and writes it, since forks exclude
 * each other.
 */
static __thread bool fork_locked;

enum { FORK_TRIES = 1000, FORK_PAUSE_US = 100 };

/*
 * Making a descriptor takes microseconds. A fork that gets no lock in this time goes on without it
 * instead of waiting for ever.
 */
static void before_fork(void) {
    if (!atomic_load_explicit(&guarded, memory_order_relaxed) || jccl_in_forked_child()) {
        return;
    }
    for (int i = 0; i < FORK_TRIES && !fork_locked; i++) {
        fork_locked = pthread_rwlock_trywrlock(&changing) == 0;
        if (!fork_locked) {
            usleep(FORK_PAUSE_US);
        }
    }
}

static void in_parent(void) {
    if (fork_locked) {
        fork_locked = false;
        pthread_rwlock_unlock(&changing);
    }
}

static void in_child(void) {
    fork_locked = false;
    changing = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
    if (!atomic_load_explicit(&guarded, memory_order_relaxed)) {
        return;
    }
    atomic_store_explicit(&forked, 1, memory_order_relaxed);
    jccl_this = (jccl_thread){0};
    jccl_capture_after_fork();
    int words = atomic_load_explicit(&tracked_words, memory_order_relaxed);
    for (int w = 0; w < words; w++) {
        /* Their numbers are the child's now: a child of this child must not close them. */
        unsigned long bits = atomic_exchange_explicit(&tracked[w], 0, memory_order_relaxed);
        while (bits != 0) {
            int bit = __builtin_ctzl(bits);
            bits &= bits - 1;
            close(w * WORD_BITS + bit);
        }
    }
}

static void register_handlers(void) {
    pthread_atfork(before_fork, in_parent, in_child);
}

void jccl_guard_fork(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_handlers);
    atomic_store_explicit(&guarded, 1, memory_order_relaxed);
}

void jccl_unguard_fork(void) {
    atomic_store_explicit(&guarded, 0, memory_order_relaxed);
}

bool jccl_in_forked_child(void) {
    return atomic_load_explicit(&forked, memory_order_relaxed) != 0;
}

bool jccl_find_forked_child(void) {
    if (jccl_in_forked_child() || jccl_ready()) {
        return jccl_in_forked_child();
    }
    int process = (int)getpid();
    if (atomic_load_explicit(&looked_in, memory_order_relaxed) != process) {
        if (jccl_jvm_is_copy()) {
            atomic_store_explicit(&forked, 1, memory_order_relaxed);
        }
        atomic_store_explicit(&looked_in, process, memory_order_relaxed);
    }
    return jccl_in_forked_child();
}

static void JNICALL begin(JNIEnv* env, jclass class) {
    (void)env;
    (void)class;
    pthread_rwlock_rdlock(&changing);
}

static void JNICALL end(JNIEnv* env, jclass class) {
    (void)env;
    (void)class;
    pthread_rwlock_unlock(&changing);
}

static void JNICALL track(JNIEnv* env, jclass class, jint fd) {
    (void)env;
    (void)class;
    if (fd < 0 || fd >= TRACKED_LIMIT) {
        return;
    }
    int word = fd / WORD_BITS;
    atomic_fetch_or_explicit(&tracked[word], 1UL << (fd % WORD_BITS), memory_order_relaxed);
    int words = atomic_load_explicit(&tracked_words, memory_order_relaxed);
    while (words <= word &&
           !atomic_compare_exchange_weak_explicit(&tracked_words, &words, word + 1,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

static void JNICALL untrack(JNIEnv* env, jclass class, jint fd) {
    (void)env;
    (void)class;
    if (fd >= 0 && fd < TRACKED_LIMIT) {
        atomic_fetch_and_explicit(&tracked[fd / WORD_BITS], ~(1UL << (fd % WORD_BITS)),
                                  memory_order_relaxed);
    }
}

/* A JVM that somebody else has made is about to end. */
static void JNICALL host_ends(JNIEnv* env, jclass class) {
    (void)env;
    (void)class;
    jccl_jvm_leaves();
}

void jccl_register_fork_guard(JNIEnv* env) {
    static const JNINativeMethod natives[] = {
        {"hostEnds0", "()V", (void*)host_ends},
        {"begin0", "()V", (void*)begin},
        {"end0", "()V", (void*)end},
        {"track0", "(I)V", (void*)track},
        {"untrack0", "(I)V", (void*)untrack},
    };
    jclass guard = jccl_load_class(env, "org.jccl.platform.ForkGuard");
    if (!(*env)->ExceptionCheck(env) && guard != NULL) {
        (*env)->RegisterNatives(env, guard, natives, sizeof natives / sizeof natives[0]);
    }
    (*env)->ExceptionClear(env);
    (*env)->DeleteLocalRef(env, guard);
}
