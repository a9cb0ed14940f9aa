/*
 * How threads of a rank hand a step over to each other, and what that does to the rank's share of a
 * core beside other work. No JCCL, no torch: two ranks and two busy processes, each in a session of
 * its own; a step is some computing in the first thread of each rank, then exchanges with the peer.
 *
 *     cc -O2 -o handover bench/c/handover.c -pthread
 *     ./handover COMPUTE_US EXCHANGES WORK_US CHAIN [STEPS]
 *
 * CHAIN says who takes part besides the first thread, as letters in any order:
 *     h  another thread does the exchanges, else the first one does them itself
 *     s  the start is passed on by a thread (start, s, h)
 *     e  the end is passed on by a thread (h, e, first)
 *     p  what the peer tells is passed on by a thread (peer, p, h)
 *     b  a thread that keeps to the first one's core wakes there each millisecond, and sleeps
 *     c  the first thread and h, s and e keep to one core, p to the other
 * An empty CHAIN is written as -. For a machine of two cores, or under taskset without c. Prints
 * the median and the mean of the later half of the steps in ms, and each rank's share of a core
 * meanwhile.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RANKS = 2, BUSY = 2, LINE = 64 };

/* A counter that only grows. */
typedef struct {
    _Atomic int value;
    char rest[LINE - sizeof(int)];
} bell;

/* What a thread that passes on does: from one bell to another, on a core. */
typedef struct {
    bell *from, *to;
    int core, rings;
} passing;

typedef struct {
    bell told[RANKS], warm[BUSY];
    struct {
        double median, mean, share;
    } result[RANKS];
} shared;

static shared* all;
static bell started, passed, heard, ended, done;
static _Atomic int first_core = -1;
static const char* chain;
static double compute_us, work_us;
static int rank, exchanges, steps, told;

static double clock_us(clockid_t which) {
    struct timespec t;
    clock_gettime(which, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static bool has(char letter) {
    return strchr(chain, letter) != NULL;
}

static void work(double us) {
    double until = clock_us(CLOCK_THREAD_CPUTIME_ID) + us;
    while (clock_us(CLOCK_THREAD_CPUTIME_ID) < until) {
        for (volatile int i = 0; i < 500; i++) {
        }
    }
}

static void await(bell* from, int least) {
    for (int seen = from->value; seen < least; seen = from->value) {
        syscall(SYS_futex, &from->value, FUTEX_WAIT, seen, NULL, NULL, 0);
    }
}

static void ring(bell* to, int value) {
    to->value = value;
    syscall(SYS_futex, &to->value, FUTEX_WAKE, RANKS, NULL, NULL, 0);
}

static void keep_to(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
        perror("sched_setaffinity");
    }
}

static void keep_to_chosen(int core) {
    if (has('c')) {
        keep_to(core);
    }
}

static void exchange(void) {
    for (int i = 0; i < exchanges; i++) {
        ring(&all->told[rank], ++told);
        await(has('p') ? &heard : &all->told[!rank], told);
        work(work_us);
    }
}

static void* helper(void* unused) {
    keep_to_chosen(rank);
    for (int n = 1; n <= steps; n++) {
        await(has('s') ? &passed : &started, n);
        exchange();
        ring(has('e') ? &ended : &done, n);
    }
    return unused;
}

static void* passer(void* argument) {
    const passing* own = argument;
    keep_to_chosen(own->core);
    for (int n = 1; n <= own->rings; n++) {
        await(own->from, n);
        ring(own->to, n);
    }
    return NULL;
}

static void* beat(void* unused) {
    const struct timespec millisecond = {0, 1000000};
    int kept = -1;
    while (true) {
        int core = first_core;
        if (core != kept) {
            keep_to(core);
            kept = core;
        }
        nanosleep(&millisecond, NULL);
    }
    return unused;
}

static void start(char letter, void* (*body)(void*), void* argument) {
    pthread_t thread;
    if (has(letter) && pthread_create(&thread, NULL, body, argument) != 0) {
        fprintf(stderr, "no thread\n");
        _exit(1);
    }
}

static int ascending(const void* a, const void* b) {
    double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static void run_rank(void) {
    passing of_start = {&started, &passed, rank, steps};
    passing of_end = {&ended, &done, rank, steps};
    passing of_peer = {&all->told[!rank], &heard, !rank, steps * exchanges};
    start('h', helper, NULL);
    start('s', passer, &of_start);
    start('e', passer, &of_end);
    start('p', passer, &of_peer);
    keep_to_chosen(rank);
    first_core = sched_getcpu();
    start('b', beat, NULL);
    double* took = calloc((size_t)steps, sizeof *took);
    if (took == NULL) {
        _exit(1);
    }
    int half = steps / 2;
    double wall = 0, cpu = 0;
    for (int n = 1; n <= steps; n++) {
        double began = clock_us(CLOCK_MONOTONIC);
        if (n == half + 1) {
            wall = began;
            cpu = clock_us(CLOCK_PROCESS_CPUTIME_ID);
        }
        first_core = sched_getcpu();
        work(compute_us);
        if (has('h')) {
            ring(&started, n);
            await(&done, n);
        } else {
            exchange();
        }
        took[n - 1] = clock_us(CLOCK_MONOTONIC) - began;
    }
    wall = clock_us(CLOCK_MONOTONIC) - wall;
    cpu = clock_us(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    int later = steps - half;
    qsort(took + half, (size_t)later, sizeof *took, ascending);
    all->result[rank].median = took[half + later / 2] / 1e3;
    all->result[rank].mean = wall / later / 1e3;
    all->result[rank].share = cpu / wall;
    _exit(0);
}

/* In a session of its own; ends with this process. */
static pid_t fork_apart(void) {
    pid_t parent = getpid(), pid = fork();
    if (pid < 0) {
        perror("fork");
        exit(1);
    }
    if (pid == 0) {
        setsid();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            _exit(1);
        }
    }
    return pid;
}

static void run_busy(bell* warm) {
    work(100000);
    ring(warm, 1);
    while (true) {
        work(100000);
    }
}

static void end(const pid_t* children, int n) {
    for (int i = 0; i < n; i++) {
        kill(children[i], SIGKILL);
    }
}

int main(int argc, char** argv) {
    if (argc < 5) {
        fprintf(stderr, "usage: %s COMPUTE_US EXCHANGES WORK_US CHAIN [STEPS]\n", argv[0]);
        return 2;
    }
    compute_us = atof(argv[1]);
    exchanges = atoi(argv[2]);
    work_us = atof(argv[3]);
    chain = argv[4];
    steps = argc > 5 ? atoi(argv[5]) : 800;
    if (steps < 2 || exchanges < 1 || strspn(chain, "hsepbc-") != strlen(chain)) {
        fprintf(stderr, "at least 2 steps and 1 exchange, and a CHAIN of h, s, e, p, b, c or -\n");
        return 2;
    }
    if (!has('h') && (has('s') || has('e'))) {
        fprintf(stderr, "s and e pass on to and from h: CHAIN needs h\n");
        return 2;
    }
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    pid_t busy[BUSY], ranks[RANKS];
    for (int i = 0; i < BUSY; i++) {
        busy[i] = fork_apart();
        if (busy[i] == 0) {
            run_busy(&all->warm[i]);
        }
    }
    for (int i = 0; i < BUSY; i++) {
        await(&all->warm[i], 1);
    }
    for (rank = 0; rank < RANKS; rank++) {
        ranks[rank] = fork_apart();
        if (ranks[rank] == 0) {
            run_rank();
        }
    }
    bool good = true;
    for (int ended_ranks = 0; ended_ranks < RANKS; ended_ranks++) {
        int status;
        if (wait(&status) < 0 || status != 0) {
            /* The peer would wait for ever. */
            good = false;
            end(ranks, RANKS);
        }
    }
    end(busy, BUSY);
    if (!good) {
        fprintf(stderr, "a rank failed\n");
        return 1;
    }
    printf("%s: median %.2f ms, mean %.2f ms, shares of a core %.2f %.2f\n", chain,
           all->result[0].median, all->result[0].mean, all->result[0].share, all->result[1].share);
    return 0;
}
