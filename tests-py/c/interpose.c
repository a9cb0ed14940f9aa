/* A profiler's way: the program defines ncclAllReduce itself and calls pncclAllReduce. */
#include "client.h"

static int calls;

ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count,
                           ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream) {
    calls++;
    return pncclAllReduce(sendbuff, recvbuff, count, datatype, op, comm, stream);
}

int main(void) {
    ncclUniqueId id;
    ncclComm_t comm = NULL;
    int x = 5;
    OK(ncclGetUniqueId(&id));
    OK(ncclCommInitRank(&comm, 1, id, 0));
    OK(ncclAllReduce(&x, &x, 1, ncclInt, ncclSum, comm, NULL));
    REQUIRE(x == 5 && calls == 1);
    OK(ncclCommDestroy(comm));
    return 0;
}
