/*
 * Calls from threads with little stack, and from a coroutine: each ends with a code, and the next
 * one works. With the name of a log file, all this happens once C calls Java through its stub.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "client.h"

enum { STACK = 1 << 20, FRAME = 4096, LEAST = 48 << 10 };

static ncclComm_t comm;

static bool all_reduce(void) {
    float x = 5;
    ncclResult_t result = ncclAllReduce(&x, &x, 1, ncclFloat, ncclSum, comm, NULL);
    if (result == ncclSuccess) {
        REQUIRE(x == 5);
        return true;
    }
    REQUIRE(result == ncclSystemError);
    REQUIRE(strstr(ncclGetLastError(NULL), "stack") != NULL);
    REQUIRE(strstr(ncclGetLastError(NULL), "512 KiB") != NULL);
    return false;
}

static void start(void) {
    ncclUniqueId id;
    OK(ncclGetUniqueId(&id));
    OK(ncclCommInitRank(&comm, 1, id, 0));
}

/* Goes down to where little is left; how many calls failed. */
static int descend(const char* lowest) {
    volatile char frame[FRAME];
    frame[0] = 0;
    long left = (long)((const char*)frame - lowest);
    int failed = all_reduce() ? 0 : 1;
    if (left > LEAST) {
        failed += descend(lowest);
    }
    return failed + frame[0];
}

static const char* lowest_of_this_thread(void) {
    pthread_attr_t attributes;
    void* lowest = NULL;
    size_t size = 0;
    REQUIRE(pthread_getattr_np(pthread_self(), &attributes) == 0);
    REQUIRE(pthread_attr_getstack(&attributes, &lowest, &size) == 0);
    pthread_attr_destroy(&attributes);
    return lowest;
}

static void* deep(void* unused) {
    REQUIRE(all_reduce());
    int failed = descend(lowest_of_this_thread());
    printf("%d calls had too little stack\n", failed);
    REQUIRE(failed > 0);
    /* They were refused before anything began, so that the communicator is as good as new. */
    REQUIRE(all_reduce());
    return unused;
}

static void* attached_with_too_little(void* unused) {
    REQUIRE(!all_reduce());
    return unused;
}

static void on_a_thread(size_t stack, void* (*body)(void*)) {
    pthread_attr_t attributes;
    pthread_t thread;
    REQUIRE(pthread_attr_init(&attributes) == 0);
    REQUIRE(pthread_attr_setstacksize(&attributes, stack) == 0);
    REQUIRE(pthread_create(&thread, &attributes, body, NULL) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    pthread_attr_destroy(&attributes);
}

/* Java takes the first thread's stack for as large as those of its own threads. */
static void descend_on_the_first_thread(void) {
    struct rlimit limit;
    REQUIRE(getrlimit(RLIMIT_STACK, &limit) == 0);
    if (limit.rlim_cur > 64 << 20) {
        printf("the first thread's stack is too large for this test\n");
        return;
    }
    int failed = descend(lowest_of_this_thread());
    printf("%d calls of the first thread had too little stack\n", failed);
    REQUIRE(failed > 0 && failed < 256);
    REQUIRE(all_reduce());
}

static ucontext_t outside;

static void coroutine(void) {
    all_reduce();
}

static void on_a_stack_of_its_own(void) {
    ucontext_t inside;
    REQUIRE(getcontext(&inside) == 0);
    inside.uc_stack.ss_sp = malloc(STACK);
    inside.uc_stack.ss_size = STACK;
    inside.uc_link = &outside;
    REQUIRE(inside.uc_stack.ss_sp != NULL);
    makecontext(&inside, coroutine, 0);
    REQUIRE(swapcontext(&outside, &inside) == 0);
    free(inside.uc_stack.ss_sp);
}

static bool says(const char* file, const char* text) {
    char line[1024];
    bool found = false;
    FILE* in = fopen(file, "r");
    while (in != NULL && !found && fgets(line, sizeof line, in) != NULL) {
        found = strstr(line, text) != NULL;
    }
    if (in != NULL) {
        fclose(in);
    }
    return found;
}

/* A child has the stub's address, but none of Java's threads. */
static void fork_and_call(void) {
    float x = 5;
    int status = 0;
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        alarm(60);
        ncclResult_t result = ncclAllReduce(&x, &x, 1, ncclFloat, ncclSum, comm, NULL);
        _exit(result == ncclInvalidUsage ? 0 : 1);
    }
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
}

static void call_often(const char* log) {
    alarm(600);
    for (int i = 0; i < 30000; i++) {
        REQUIRE(all_reduce());
    }
    while (!says(log, "C calls operations through a stub")) {
        usleep(1000);
    }
    float x = 5;
    EXPECT(ncclInvalidArgument, ncclAllReduce(&x, &x, 1, (ncclDataType_t)99, ncclSum, comm, NULL));
    REQUIRE(strstr(ncclGetLastError(NULL), "ncclAllReduce : invalid type 99") != NULL);
    EXPECT(ncclInvalidArgument, ncclAllReduce(&x, &x, 1, ncclFloat, ncclSum, NULL, NULL));
    fork_and_call();
}

int main(int count, char** arguments) {
    start();
    if (count > 1) {
        call_often(arguments[1]);
    }
    on_a_stack_of_its_own();
    descend_on_the_first_thread();
    on_a_thread(STACK, deep);
    REQUIRE(all_reduce());
    on_a_thread(64 << 10, attached_with_too_little);
    on_a_thread(200 << 10, attached_with_too_little);
    REQUIRE(all_reduce());
    OK(ncclCommDestroy(comm));
    printf("content\n");
    return 0;
}
