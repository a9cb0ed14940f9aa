/* all_reduce RANK NRANKS FILE: the everyday client, knowing nothing but nccl.h. */
#include "client.h"

enum { COUNT = 100003 };

/* Operations that have a part for each rank, and the one that reduces to a root. */
static void parts(ncclComm_t comm, int rank, int n) {
    int* each = calloc(2 * (size_t)n, sizeof *each);
    for (int r = 0; r < n; r++) {
        each[r] = 100 * rank + r;
    }
    OK(ncclAlltoAll(each, each + n, 1, ncclInt, comm, NULL));
    OK(ncclAlltoAll(each, each, 1, ncclInt, comm, NULL));
    for (int r = 0; r < n; r++) {
        REQUIRE(each[r] == 100 * r + rank && each[n + r] == each[r]);
    }
    int own = -1;
    OK(ncclScatter(each, &own, 1, ncclInt, 1, comm, NULL));
    REQUIRE(own == 100 * rank + 1);
    OK(ncclGather(&own, rank == 0 ? each : NULL, 1, ncclInt, 0, comm, NULL));
    for (int r = 0; r < n && rank == 0; r++) {
        REQUIRE(each[r] == 100 * r + 1);
    }
    int sum = -1;
    OK(ncclReduce(&rank, rank == 1 ? &sum : NULL, 1, ncclInt, ncclSum, 1, comm, NULL));
    REQUIRE(sum == (rank == 1 ? n * (n - 1) / 2 : -1));
    free(each);
}

/* Each rank has a factor of its own; memory is the library's. */
static void factors(ncclComm_t comm, int rank, int n) {
    void* memory = NULL;
    float factor = (float)rank + 1;
    ncclRedOp_t now;
    ncclRedOp_t later;
    OK(ncclMemAlloc(&memory, 4 * sizeof(float)));
    float* x = memory;
    REQUIRE(x[0] == 0 && x[3] == 0);
    OK(ncclRedOpCreatePreMulSum(&now, &factor, ncclFloat, ncclScalarHostImmediate, comm));
    OK(ncclRedOpCreatePreMulSum(&later, x + 2, ncclFloat, ncclScalarDevice, comm));
    factor = -1;
    x[0] = 2;
    x[2] = 10;
    OK(ncclAllReduce(x, x + 1, 1, ncclFloat, now, comm, NULL));
    REQUIRE(x[0] == 2 && x[1] == (float)(n * (n + 1)));
    OK(ncclAllReduce(x, x + 1, 1, ncclFloat, later, comm, NULL));
    REQUIRE(x[1] == (float)(20 * n));
    EXPECT(ncclInvalidArgument, ncclAllReduce(x, x + 1, 1, ncclInt, now, comm, NULL));
    OK(ncclRedOpDestroy(now, comm));
    OK(ncclRedOpDestroy(later, comm));
    EXPECT(ncclInvalidArgument, ncclRedOpDestroy(now, comm));
    EXPECT(ncclInvalidArgument, ncclRedOpDestroy(ncclSum, comm));
    EXPECT(ncclInvalidArgument, ncclAllReduce(x, x + 1, 1, ncclFloat, now, comm, NULL));
    EXPECT(ncclInvalidArgument, ncclMemFree(x + 1));
    OK(ncclMemFree(memory));
    EXPECT(ncclInvalidArgument, ncclMemFree(memory));
    OK(ncclMemFree(NULL));
}

int main(int argc, char** argv) {
    REQUIRE(argc == 4);
    int rank = atoi(argv[1]);
    int n = atoi(argv[2]);
    ncclComm_t comm = NULL;
    OK(ncclCommInitRank(&comm, n, meet(argv[3], rank), rank));
    int value = -7;
    OK(ncclCommCount(comm, &value));
    REQUIRE(value == n);
    OK(ncclCommUserRank(comm, &value));
    REQUIRE(value == rank);
    OK(ncclCommCuDevice(comm, &value));
    REQUIRE(value == -1);

    float* in = malloc(COUNT * sizeof *in);
    float* out = malloc(COUNT * sizeof *out);
    for (int i = 0; i < COUNT; i++) {
        in[i] = (float)(rank + i % 100);
    }
    OK(ncclAllReduce(in, out, COUNT, ncclFloat, ncclSum, comm, NULL));
    OK(ncclAllReduce(in, in, COUNT, ncclFloat, ncclMax, comm, NULL));
    for (int i = 0; i < COUNT; i++) {
        REQUIRE(out[i] == (float)(n * (n - 1) / 2 + n * (i % 100)));
        REQUIRE(in[i] == (float)(n - 1 + i % 100));
    }

    int64_t* mine = calloc((size_t)n, sizeof *mine);
    mine[rank] = 10 + rank;
    OK(ncclAllGather(mine + rank, mine, 1, ncclInt64, comm, NULL));
    for (int r = 0; r < n; r++) {
        REQUIRE(mine[r] == 10 + r);
    }
    parts(comm, rank, n);
    factors(comm, rank, n);
    int word = rank == 1 ? 4711 : 0;
    OK(ncclBcast(&word, 1, ncclInt, 1, comm, NULL));
    REQUIRE(word == 4711);

    int left = (rank + n - 1) % n;
    int right = (rank + 1) % n;
    int sent = 100 + rank;
    int received = 0;
    OK(ncclGroupStart());
    OK(ncclSend(&sent, 1, ncclInt, right, comm, NULL));
    OK(ncclRecv(&received, 1, ncclInt, left, comm, NULL));
    OK(ncclGroupEnd());
    REQUIRE(received == 100 + left);

    /* The root need not wait for the others; what it leaves behind must outlive it. */
    OK(ncclBcast(in, COUNT, ncclFloat, 0, comm, NULL));
    OK(ncclCommFinalize(comm));
    OK(ncclCommDestroy(comm));
    free(in);
    free(out);
    free(mine);
    printf("rank %d of %d is content\n", rank, n);
    return 0;
}
