/* What is not done yet says so in every state of a communicator, and changes none of them. */
#include "client.h"

#define LATER(function, ...)                                                           \
    do {                                                                               \
        EXPECT(ncclInvalidUsage, function(__VA_ARGS__));                               \
        REQUIRE(strstr(ncclGetLastError(comm), #function " is not done yet") != NULL); \
    } while (0)

static ncclComm_t create(int ranks, int blocking) {
    ncclUniqueId id;
    ncclComm_t comm;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = blocking;
    OK(ncclGetUniqueId(&id));
    EXPECT(blocking ? ncclSuccess : ncclInProgress,
           ncclCommInitRankConfig(&comm, ranks, id, 0, &config));
    return comm;
}

static ncclResult_t state(ncclComm_t comm) {
    ncclResult_t found = ncclNumResults;
    ncclResult_t code = ncclCommGetAsyncError(comm, &found);
    return code == ncclSuccess ? found : code;
}

static ncclResult_t count(ncclComm_t comm) {
    int ranks = 0;
    return ncclCommCount(comm, &ranks);
}

static void try_all(ncclComm_t comm) {
    float x = 1;
    float y = 2;
    int excluded = 1;
    uint64_t value = 3;
    void* pointer = &x;
    ncclUniqueId id;
    ncclComm_t other = comm;
    ncclResult_t before = state(comm);
    ncclResult_t counted = count(comm);
    LATER(ncclCommRevoke, comm, 0);
    LATER(ncclCommShrink, comm, &excluded, 1, &other, NULL, 0);
    LATER(ncclCommGetUniqueId, comm, &id);
    LATER(ncclCommGrow, comm, 2, NULL, -1, &other, NULL);
    LATER(ncclCommSuspend, comm, 0);
    LATER(ncclCommResume, comm);
    LATER(ncclCommMemStats, comm, (ncclCommMemStat_t)0, &value);
    LATER(ncclCommRegister, comm, &x, sizeof x, &pointer);
    LATER(ncclCommDeregister, comm, NULL);
    LATER(ncclAllReduceConfig, &x, &y, 1, ncclFloat, ncclSum, comm, NULL, NULL);
    LATER(ncclAlltoAllConfig, &x, &y, 1, ncclFloat, comm, NULL, NULL);
    REQUIRE(other == comm && pointer == &x && value == 3 && y == 2);
    REQUIRE(strlen(ncclGetErrorString(ncclInvalidUsage)) > 0);
    REQUIRE(state(comm) == before && count(comm) == counted);
}

int main(void) {
    alarm(600);
    try_all(NULL);
    ncclComm_t comm = create(2, 0);
    REQUIRE(state(comm) == ncclInProgress);
    try_all(comm);
    OK(ncclCommAbort(comm));
    try_all(comm);
    comm = create(1, 1);
    REQUIRE(state(comm) == ncclSuccess);
    try_all(comm);
    OK(ncclGroupStart());
    try_all(comm);
    OK(ncclGroupEnd());
    OK(ncclCommFinalize(comm));
    try_all(comm);
    OK(ncclCommDestroy(comm));
    try_all(comm);
    puts("content");
    return 0;
}
