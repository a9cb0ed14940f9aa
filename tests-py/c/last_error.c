/*
 * Threads fail at the same time, in C and in Java, and read why: each its own sentence, whole. A
 * thread that has not failed reads whole sentences, too. The argument is how often.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "client.h"

enum { THREADS = 4 };

static int times;
static _Atomic int running;

/* C's own sentence, now of one length and now of another. */
static void fails_in_c(int thread, int time) {
    bool is_short = (thread + time) % 2 == 0;
    ncclResult_t code = is_short ? ncclCommRevoke(NULL, 0) : ncclCommWindowDeregister(NULL, NULL);
    char expected[64];
    snprintf(expected, sizeof expected, "%s is not done yet in JCCL ",
             is_short ? "ncclCommRevoke" : "ncclCommWindowDeregister");
    const char* text = ncclGetLastError(NULL);
    REQUIRE(code == ncclInvalidUsage);
    REQUIRE(strncmp(text, expected, strlen(expected)) == 0);
    REQUIRE(strcmp(text + strlen(text) - 20, "; see DIFFERENCES.md") == 0);
}

/* Java's sentence about a handle that no other call has. */
static void fails_in_java(int thread, int time) {
    uintptr_t handle = ((uintptr_t)thread << 48) + (uintptr_t)time * 16 + 1;
    char expected[192];
    snprintf(expected, sizeof expected,
             "CommUserRank : comm 0x%lx is not a communicator of this library (corrupted comm "
             "object detected); pass the handle that an init or split wrote, whole",
             (unsigned long)handle);
    int rank = 0;
    EXPECT(ncclInvalidArgument, ncclCommUserRank((ncclComm_t)handle, &rank));
    REQUIRE(strcmp(ncclGetLastError(NULL), expected) == 0);
    /* Asked again, it is told the same, or what has failed since. */
    ncclGetLastError(NULL);
}

static void* fails(void* argument) {
    int thread = (int)(intptr_t)argument;
    for (int i = 0; i < times; i++) {
        if (thread < 2) {
            fails_in_c(thread, i);
        } else {
            fails_in_java(thread, i);
        }
    }
    running--;
    return NULL;
}

static bool is_whole(const char* text) {
    static const char* const begins[] = {"ncclCommRevoke is not done yet in JCCL ",
                                         "ncclCommWindowDeregister is not done yet in JCCL ",
                                         "ncclCommResume is not done yet in JCCL ",
                                         "CommUserRank : comm 0x"};
    static const char* const ends[] = {"; see DIFFERENCES.md", "; see DIFFERENCES.md",
                                       "; see DIFFERENCES.md", " wrote, whole"};
    for (int i = 0; i < 4; i++) {
        const char* end = strstr(text, ends[i]);
        if (strncmp(text, begins[i], strlen(begins[i])) == 0) {
            return end != NULL && end[strlen(ends[i])] == '\0' && strlen(text) < 180;
        }
    }
    return text[0] == '\0';
}

static void all_at_once(int first, int last) {
    pthread_t threads[THREADS];
    running = last - first;
    for (intptr_t i = first; i < last; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, fails, (void*)i) == 0);
    }
    while (running > 0) {
        const char* text = ncclGetLastError(NULL);
        if (!is_whole(text)) {
            FAIL("torn: '%s'", text);
        }
    }
    for (int i = first; i < last; i++) {
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    }
}

static void* fails_once(void* unused) {
    (void)unused;
    EXPECT(ncclInvalidUsage, ncclCommRevoke(NULL, 0));
    return NULL;
}

static void elsewhere(void* (*body)(void*)) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, body, NULL) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

/* This thread's failure comes first, but what fails after it was shown is news. */
static void order(void) {
    EXPECT(ncclInvalidUsage, ncclCommRevoke(NULL, 0));
    elsewhere(fails_once);
    REQUIRE(strstr(ncclGetLastError(NULL), "ncclCommRevoke is") != NULL);
    REQUIRE(strstr(ncclGetLastError(NULL), "ncclCommRevoke is") != NULL);
    elsewhere(fails_once);
    REQUIRE(strstr(ncclGetLastError(NULL), "ncclCommRevoke is") != NULL);
    REQUIRE(strstr(ncclGetLastError(NULL), "ncclCommRevoke is") != NULL);
    EXPECT(ncclInvalidUsage, ncclCommRevoke(NULL, 0));
    REQUIRE(strstr(ncclGetLastError(NULL), "ncclCommRevoke is") != NULL);
}

/* More threads than there is room for fail, and end; the newest failure is shown. */
static void* many(void* unused) {
    (void)unused;
    for (int i = 0; i < 100; i++) {
        elsewhere(fails_once);
    }
    EXPECT(ncclInvalidUsage, ncclCommResume(NULL));
    return NULL;
}

static void everything(int last) {
    order();
    elsewhere(many);
    REQUIRE(strstr(ncclGetLastError(NULL), "ncclCommResume is") != NULL);
    all_at_once(0, last);
}

int main(int argc, char** argv) {
    REQUIRE(argc == 2);
    REQUIRE(ncclGetLastError(NULL)[0] == '\0');
    /* Without Java it is quick. */
    times = 20 * atoi(argv[1]);
    everything(2);
    times = atoi(argv[1]);
    EXPECT(ncclInvalidUsage, ncclCommResume(NULL));
    char before[1024];
    snprintf(before, sizeof before, "%s", ncclGetLastError(NULL));
    ncclUniqueId id;
    OK(ncclGetUniqueId(&id));
    REQUIRE(strcmp(ncclGetLastError(NULL), before) == 0);
    everything(THREADS);
    printf("content\n");
    return 0;
}
