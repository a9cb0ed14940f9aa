/* leave HOW: ends with live communicators and threads inside a call, by return, exit or _exit. */
#include "client.h"

static void* waits_for_ever(void* argument) {
    int word = 0;
    ncclRecv(&word, 1, ncclInt, 0, (ncclComm_t)argument, NULL);
    return NULL;
}

int main(int argc, char** argv) {
    REQUIRE(argc == 2);
    ncclUniqueId id;
    ncclComm_t comm = NULL;
    ncclComm_t child = NULL;
    OK(ncclGetUniqueId(&id));
    OK(ncclCommInitRank(&comm, 1, id, 0));
    OK(ncclCommSplit(comm, 0, 0, &child, NULL));
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, waits_for_ever, child) == 0);
    usleep(100000);
    if (strcmp(argv[1], "exit") == 0) {
        exit(3);
    } else if (strcmp(argv[1], "_exit") == 0) {
        _exit(3);
    }
    return 3;
}
