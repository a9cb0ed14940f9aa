/*
 * s1 RANK FILE TIMES: scenario S1, TIMES times. Four ranks as two nodes of two, a non-blocking
 * communicator split into rails (0 with 2, 1 with 3) and nodes (0 with 1, 2 with 3), barriers in
 * between; then all-gathers on every communicator from threads that did not create them.
 */
#include "client.h"

enum { RANKS = 4, ROUNDS = 50 };

typedef struct {
    ncclComm_t comm;
    int first;  /* the world's rank of the communicator's rank 0 */
    int stride; /* from one of its ranks to the next */
    int size;
    int rank; /* this process in the world */
} part;

static void barrier(ncclComm_t comm) {
    int one = 1;
    EVENTUALLY(ncclAllReduce(&one, &one, 1, ncclInt, ncclSum, comm, NULL), comm);
    int size = 0;
    OK(ncclCommCount(comm, &size));
    REQUIRE(one == size);
}

static ncclComm_t split(ncclComm_t parent, int color, int key) {
    ncclComm_t child = NULL;
    ncclResult_t result = ncclCommSplit(parent, color, key, &child, NULL);
    REQUIRE(result == ncclSuccess || result == ncclInProgress);
    settle(parent);
    REQUIRE(child != NULL);
    settle(child);
    return child;
}

static void* gather(void* argument) {
    part* p = argument;
    for (int round = 0; round < ROUNDS; round++) {
        int mine = 1000 * round + p->rank;
        int all[RANKS] = {0};
        EVENTUALLY(ncclAllGather(&mine, all, 1, ncclInt, p->comm, NULL), p->comm);
        for (int i = 0; i < p->size; i++) {
            REQUIRE(all[i] == 1000 * round + p->first + i * p->stride);
        }
    }
    return NULL;
}

static void scenario(ncclUniqueId id, int rank) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t world = NULL;
    ncclResult_t result = ncclCommInitRankConfig(&world, RANKS, id, rank, &config);
    REQUIRE(result == ncclSuccess || result == ncclInProgress);
    settle(world);
    barrier(world);
    ncclComm_t rail = split(world, rank % 2, rank);
    barrier(world);
    ncclComm_t node = split(world, rank / 2, rank);
    barrier(world);

    part parts[3] = {
        {world, 0, 1, RANKS, rank}, {rail, rank % 2, 2, 2, rank}, {node, rank / 2 * 2, 1, 2, rank}};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, gather, &parts[i]) == 0);
    }
    for (int i = 0; i < 3; i++) {
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    }
    for (int i = 2; i >= 0; i--) {
        EVENTUALLY(ncclCommFinalize(parts[i].comm), parts[i].comm);
        OK(ncclCommDestroy(parts[i].comm));
    }
}

int main(int argc, char** argv) {
    REQUIRE(argc == 4);
    int rank = atoi(argv[1]);
    for (int time = 0; time < atoi(argv[3]); time++) {
        char file[4000];
        snprintf(file, sizeof file, "%s.%d", argv[2], time);
        scenario(meet(file, rank), rank);
    }
    printf("rank %d is content\n", rank);
    return 0;
}
