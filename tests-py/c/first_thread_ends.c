/* The first thread of a process ends while the others, two ranks, go on with large calls. */
#include "client.h"

enum { RANKS = 2, COUNT = 1 << 19, CALLS = 5 };

static ncclUniqueId id;
static float data[RANKS][COUNT];
static pthread_barrier_t ready;
static pthread_barrier_t over;

/* The system knows a process by its first thread, which stays a zombie until all have ended. */
static void await_end_of_first_thread(void) {
    char state = 0;
    while (state != 'Z') {
        FILE* status = fopen("/proc/self/stat", "r");
        REQUIRE(status != NULL && fscanf(status, "%*d (%*[^)]) %c", &state) == 1);
        fclose(status);
        usleep(1000);
    }
}

static void* is_a_rank(void* argument) {
    int rank = (int)(intptr_t)argument;
    ncclComm_t comm = NULL;
    OK(ncclCommInitRank(&comm, RANKS, id, rank));
    pthread_barrier_wait(&ready);
    await_end_of_first_thread();
    for (int call = 0; call < CALLS; call++) {
        for (int i = 0; i < COUNT; i++) {
            data[rank][i] = (float)(rank + call);
        }
        OK(ncclAllReduce(data[rank], data[rank], COUNT, ncclFloat, ncclSum, comm, NULL));
        REQUIRE(data[rank][0] == (float)(2 * call + 1) && data[rank][COUNT - 1] == data[rank][0]);
        /* Rank 1 reads the buffer of rank 0 itself. */
        data[rank][COUNT - 1] += (float)rank;
        OK(ncclBroadcast(data[rank], data[rank], COUNT, ncclFloat, 0, comm, NULL));
        REQUIRE(data[rank][0] == (float)(2 * call + 1) && data[rank][COUNT - 1] == data[rank][0]);
    }
    OK(ncclCommDestroy(comm));
    /* Java's threads go on. */
    if (pthread_barrier_wait(&over) == PTHREAD_BARRIER_SERIAL_THREAD) {
        printf("content\n");
        exit(0);
    }
    return NULL;
}

int main(void) {
    alarm(60); /* the calls of a rank that waits for ever do not end by themselves */
    OK(ncclGetUniqueId(&id));
    REQUIRE(pthread_barrier_init(&ready, NULL, RANKS + 1) == 0);
    REQUIRE(pthread_barrier_init(&over, NULL, RANKS) == 0);
    for (int rank = 0; rank < RANKS; rank++) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, is_a_rank, (void*)(intptr_t)rank) == 0);
        REQUIRE(pthread_detach(thread) == 0);
    }
    pthread_barrier_wait(&ready);
    pthread_exit(NULL);
}
