/* A child made by fork is told what to do instead; one made before the first call is free. */
#include <sys/wait.h>

#include "client.h"

static void uses_nccl(void) {
    ncclUniqueId id;
    ncclComm_t comm = NULL;
    int x = 5;
    OK(ncclGetUniqueId(&id));
    OK(ncclCommInitRank(&comm, 1, id, 0));
    OK(ncclAllReduce(&x, &x, 1, ncclInt, ncclSum, comm, NULL));
    OK(ncclCommDestroy(comm));
}

static void child_succeeds(void (*body)(void)) {
    pid_t pid = fork();
    if (pid == 0) {
        body();
        fflush(stdout);
        _exit(0);
    }
    int status = -1;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static ncclComm_t live;

static void is_refused(void) {
    ncclUniqueId id;
    int x = 5;
    EXPECT(ncclInvalidUsage, ncclGetUniqueId(&id));
    REQUIRE(strstr(ncclGetLastError(NULL), "spawn") != NULL);
    REQUIRE(strstr(ncclGetLastError(NULL), "jccl.run") != NULL);
    EXPECT(ncclInvalidUsage, ncclAllReduce(&x, &x, 1, ncclInt, ncclSum, live, NULL));
    EXPECT(ncclInvalidUsage, ncclMemAlloc((void**)&live, 1));
    REQUIRE(strstr(ncclGetLastError(NULL), "spawn") != NULL);
    OK(ncclGetVersion(&x));
}

static void* forks_a_child(void* unused) {
    child_succeeds(is_refused);
    return unused;
}

int main(void) {
    ncclUniqueId id;
    child_succeeds(uses_nccl);
    OK(ncclGetUniqueId(&id));
    OK(ncclCommInitRank(&live, 1, id, 0));
    child_succeeds(is_refused);
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, forks_a_child, NULL) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    int x = 5;
    OK(ncclAllReduce(&x, &x, 1, ncclInt, ncclSum, live, NULL));
    OK(ncclCommDestroy(live));
    printf("content\n");
    return 0;
}
