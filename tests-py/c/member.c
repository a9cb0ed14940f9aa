/*
 * member ID_FILE OUTPUT RANKS RANK KIND COUNT: a rank of a communicator whose other ranks are
 * programs in other languages; tests-py/mixed says what each of them does.
 */
#include "client.h"

enum { PERIOD = 2003 };

typedef struct {
    ncclComm_t comm;
    int rank;
    int n;
    const char* phase;
} team;

static FILE* output;
static size_t count;
static int world_rank;

static float* input(int operation, size_t length) {
    float* x = malloc(length * sizeof *x);
    REQUIRE(x != NULL);
    for (size_t i = 0; i < length; i++) {
        long seed = world_rank * 7919L + operation * 104729L + (long)(i % PERIOD) * 31;
        x[i] = (float)(seed % PERIOD - 1001) / 7.0F;
    }
    return x;
}

static unsigned crc32(const float* x, size_t length) {
    const unsigned char* bytes = (const unsigned char*)x;
    unsigned crc = ~0U;
    for (size_t i = 0; i < length * sizeof *x; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320U : 0);
        }
    }
    return ~crc;
}

static void report(const team* t, const char* operation, const float* x, size_t length) {
    fprintf(output, "%s %s %u\n", t->phase, operation, crc32(x, length));
}

/* Makes the buffers of an operation, runs it, and reports what came, if anything comes here. */
#define RUN(number, name, sends, receives, call, comes) \
    do {                                                \
        float* x = input(number, sends);                \
        float* y = calloc(receives, sizeof *y);         \
        REQUIRE(y != NULL);                             \
        OK(call);                                       \
        if (comes) {                                    \
            report(t, name, y, receives);               \
        }                                               \
        free(x);                                        \
        free(y);                                        \
    } while (0)

static ncclResult_t ring(const team* t, const float* x, float* y) {
    OK(ncclGroupStart());
    OK(ncclSend(x, count, ncclFloat, (t->rank + 1) % t->n, t->comm, NULL));
    OK(ncclRecv(y, count, ncclFloat, (t->rank + t->n - 1) % t->n, t->comm, NULL));
    return ncclGroupEnd();
}

static void all_operations(const team* t) {
    ncclComm_t comm = t->comm;
    size_t all = t->n * count;
    int last = t->n - 1;
    RUN(1, "all_reduce", count, count, ncclAllReduce(x, y, count, ncclFloat, ncclSum, comm, NULL),
        1);
    RUN(2, "broadcast", count, count, ncclBroadcast(x, y, count, ncclFloat, 1 % t->n, comm, NULL),
        1);
    RUN(3, "reduce", count, count, ncclReduce(x, y, count, ncclFloat, ncclSum, last, comm, NULL),
        t->rank == last);
    RUN(4, "all_gather", count, all, ncclAllGather(x, y, count, ncclFloat, comm, NULL), 1);
    RUN(5, "reduce_scatter", all, count,
        ncclReduceScatter(x, y, count, ncclFloat, ncclSum, comm, NULL), 1);
    RUN(6, "all_to_all", all, all, ncclAlltoAll(x, y, count, ncclFloat, comm, NULL), 1);
    RUN(7, "gather", count, all, ncclGather(x, y, count, ncclFloat, 0, comm, NULL), t->rank == 0);
    RUN(8, "scatter", all, count, ncclScatter(x, y, count, ncclFloat, last, comm, NULL), 1);
    RUN(9, "ring", count, count, ring(t, x, y), 1);
}

static team team_of(ncclComm_t comm, const char* phase) {
    team t = {comm, 0, 0, phase};
    OK(ncclCommUserRank(comm, &t.rank));
    OK(ncclCommCount(comm, &t.n));
    return t;
}

static void part(ncclComm_t world, int color, int key, const char* phase) {
    ncclComm_t child;
    OK(ncclCommSplit(world, color, key, &child, NULL));
    team t = team_of(child, phase);
    all_operations(&t);
    OK(ncclCommDestroy(child));
}

int main(int argc, char** argv) {
    REQUIRE(argc == 7);
    output = fopen(argv[2], "w");
    REQUIRE(output != NULL);
    int ranks = atoi(argv[3]), rank = atoi(argv[4]), kind = atoi(argv[5]);
    count = strtoul(argv[6], NULL, 10);
    world_rank = rank;
    ncclComm_t world;
    OK(ncclCommInitRank(&world, ranks, meet(argv[1], rank), rank));
    team t = team_of(world, "world");
    all_operations(&t);
    part(world, kind, rank, "kind");
    part(world, rank % 2, -rank, "across");
    t.phase = "again";
    all_operations(&t);
    OK(ncclCommDestroy(world));
    REQUIRE(fclose(output) == 0);
    return 0;
}
