/* Wrong calls are refused with a sentence and break nothing. */
#include "client.h"

/* The call is refused with this code, and the last error is a new sentence. */
#define REFUSED(code, call)                                            \
    do {                                                               \
        char before[1024];                                             \
        ncclGetVersion(NULL);                                          \
        snprintf(before, sizeof before, "%s", ncclGetLastError(NULL)); \
        EXPECT(code, call);                                            \
        REQUIRE(strcmp(before, ncclGetLastError(NULL)) != 0);          \
        printf("%s: %s\n", #call, ncclGetLastError(NULL));             \
    } while (0)

int main(void) {
    ncclComm_t comm = NULL;
    ncclComm_t other = NULL;
    ncclUniqueId id;
    int value = 0;
    float x = 3;
    float y = 0;
    ncclResult_t state = ncclSuccess;
    REFUSED(ncclInvalidArgument, ncclGetUniqueId(NULL));
    OK(ncclGetUniqueId(&id));
    REFUSED(ncclInvalidArgument, ncclCommInitRank(NULL, 1, id, 0));
    REFUSED(ncclInvalidArgument, ncclCommInitRank(&comm, 0, id, 0));
    REFUSED(ncclInvalidArgument, ncclCommInitRank(&comm, 2, id, 2));
    REFUSED(ncclInvalidArgument, ncclCommInitRank(&comm, 2, id, -1));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.magic = 1;
    REFUSED(ncclInvalidArgument, ncclCommInitRankConfig(&comm, 1, id, 0, &config));
    config = (ncclConfig_t)NCCL_CONFIG_INITIALIZER;
    config.blocking = 2;
    REFUSED(ncclInvalidArgument, ncclCommInitRankConfig(&comm, 1, id, 0, &config));

    REFUSED(ncclInvalidArgument, ncclAllReduce(&x, &y, 1, ncclFloat, ncclSum, NULL, NULL));
    REFUSED(ncclInvalidArgument, ncclCommCount(NULL, &value));
    REFUSED(ncclInvalidArgument, ncclCommGetAsyncError(NULL, &state));
    REFUSED(ncclInvalidUsage, ncclGroupEnd());
    OK(ncclCommDestroy(NULL));
    OK(ncclCommAbort(NULL));
    OK(ncclCommFinalize(NULL));

    OK(ncclCommInitRank(&comm, 1, id, 0));
    REFUSED(ncclInvalidArgument, ncclCommCount(comm, NULL));
    REFUSED(ncclInvalidArgument, ncclAllReduce(&x, &y, 1, (ncclDataType_t)99, ncclSum, comm, NULL));
    REFUSED(ncclInvalidArgument, ncclAllReduce(&x, &y, 1, ncclFloat, (ncclRedOp_t)77, comm, NULL));
    REFUSED(ncclInvalidArgument, ncclBroadcast(&x, &y, 1, ncclFloat, 1, comm, NULL));
    REFUSED(ncclInvalidArgument, ncclSend(&x, 1, ncclFloat, 5, comm, NULL));
    REFUSED(ncclInvalidArgument, ncclCommSplit(comm, 0, 0, NULL, NULL));
    OK(ncclAllReduce(&x, &y, 1, ncclFloat, ncclSum, comm, NULL));
    REQUIRE(y == 3);
    OK(ncclCommSplit(comm, NCCL_SPLIT_NOCOLOR, 0, &other, NULL));
    REQUIRE(other == NULL);

    REFUSED(ncclInvalidUsage, ncclMemAlloc((void**)&other, 8));
    REFUSED(ncclInvalidUsage, ncclReduce(&x, &y, 1, ncclFloat, ncclSum, 0, comm, NULL));
    OK(ncclCommDestroy(comm));
    REFUSED(ncclInvalidArgument, ncclCommDestroy(comm));
    REFUSED(ncclInvalidArgument, ncclAllReduce(&x, &y, 1, ncclFloat, ncclSum, comm, NULL));
    REFUSED(ncclInvalidArgument, ncclCommCount((ncclComm_t)&x, &value));
    return 0;
}
