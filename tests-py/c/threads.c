/* Threads that Java does not know call, and end without leaving anything behind. */
#include <dirent.h>

#include "client.h"

enum { THREADS = 64, RANKS = 3 };

static ncclUniqueId id;

static int threads_of_process(void) {
    DIR* directory = opendir("/proc/self/task");
    REQUIRE(directory != NULL);
    int count = -2;
    while (readdir(directory) != NULL) {
        count++;
    }
    closedir(directory);
    return count;
}

static void* asks(void* argument) {
    int value = 0;
    OK(ncclCommUserRank((ncclComm_t)argument, &value));
    REQUIRE(value == 0);
    return NULL;
}

static void* is_a_rank(void* argument) {
    int rank = (int)(intptr_t)argument;
    ncclComm_t comm = NULL;
    OK(ncclCommInitRank(&comm, RANKS, id, rank));
    for (int i = 0; i < 1000; i++) {
        double x = rank + i;
        OK(ncclAllReduce(&x, &x, 1, ncclDouble, ncclSum, comm, NULL));
        REQUIRE(x == 3 + 3.0 * i);
    }
    OK(ncclCommDestroy(comm));
    return NULL;
}

/* Called by the end of a thread, after the library may have detached it already. */
static void late_call(void* argument) {
    asks(argument);
}

static pthread_key_t late;

static void* asks_late(void* argument) {
    pthread_setspecific(late, argument);
    return asks(argument);
}

static void run(void* (*body)(void*), void* argument) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, body, argument) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

/* Java is started once, whoever comes first. */
static void* comes_first(void* argument) {
    ncclUniqueId mine;
    OK(ncclGetUniqueId(&mine));
    return argument;
}

static void race_to_start(void) {
    pthread_t racers[8];
    for (int i = 0; i < 8; i++) {
        REQUIRE(pthread_create(&racers[i], NULL, comes_first, NULL) == 0);
    }
    for (int i = 0; i < 8; i++) {
        REQUIRE(pthread_join(racers[i], NULL) == 0);
    }
}

int main(void) {
    ncclComm_t comm = NULL;
    race_to_start();
    OK(ncclGetUniqueId(&id));
    OK(ncclCommInitRank(&comm, 1, id, 0));
    run(asks, comm);
    int before = threads_of_process();
    for (int i = 0; i < THREADS; i++) {
        run(asks, comm);
    }
    REQUIRE(pthread_key_create(&late, late_call) == 0);
    run(asks_late, comm);
    REQUIRE(threads_of_process() <= before + 2);
    OK(ncclCommDestroy(comm));

    OK(ncclGetUniqueId(&id));
    pthread_t ranks[RANKS];
    for (intptr_t r = 0; r < RANKS; r++) {
        REQUIRE(pthread_create(&ranks[r], NULL, is_a_rank, (void*)r) == 0);
    }
    for (int r = 0; r < RANKS; r++) {
        REQUIRE(pthread_join(ranks[r], NULL) == 0);
    }
    printf("content\n");
    return 0;
}
