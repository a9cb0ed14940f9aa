/*
 * leave HOW: ends with live communicators and threads inside a call, by return, exit, _exit, or by
 * exit in a signal handler that interrupts a call.
 */
#include <signal.h>

#include "client.h"

static void leaves(int number) {
    (void)number;
    exit(3);
}

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
    } else if (strcmp(argv[1], "handler") == 0) {
        signal(SIGALRM, leaves);
        ualarm(200000, 0);
        waits_for_ever(comm);
    }
    return 3;
}
