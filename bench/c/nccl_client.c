/* ncclAllReduce of floats on host buffers: nccl_client RANK RANKS ID_FILE SIZE... */
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "measure.h"

static ncclComm_t comm;

static void must(ncclResult_t result) {
    if (result != ncclSuccess) {
        fprintf(stderr, "%s: %s\n", ncclGetErrorString(result), ncclGetLastError(comm));
        exit(1);
    }
}

static void sum(const float* send, float* recv, size_t count) {
    must(ncclAllReduce(send, recv, count, ncclFloat, ncclSum, comm, 0));
}

static double maximum(double mine) {
    double all = 0;
    must(ncclAllReduce(&mine, &all, 1, ncclDouble, ncclMax, comm, 0));
    return all;
}

/* Rank 0 writes the id and renames the file, so that it appears whole. */
static void exchange(ncclUniqueId* id, int rank, const char* path) {
    char draft[4096];
    snprintf(draft, sizeof(draft), "%s.draft", path);
    if (rank == 0) {
        must(ncclGetUniqueId(id));
        FILE* file = fopen(draft, "wb");
        if (!file || fwrite(id, sizeof(*id), 1, file) != 1 || fclose(file) || rename(draft, path)) {
            perror(path);
            exit(1);
        }
        return;
    }
    FILE* file = NULL;
    while (!(file = fopen(path, "rb"))) {
        usleep(1000);
    }
    if (fread(id, sizeof(*id), 1, file) != 1) {
        perror(path);
        exit(1);
    }
    fclose(file);
}

int main(int argc, char** argv) {
    if (argc < 5) {
        fprintf(stderr, "nccl_client RANK RANKS ID_FILE SIZE...\n");
        return 2;
    }
    struct library library = {atoi(argv[1]), sum, maximum};
    int n_ranks = atoi(argv[2]);
    ncclUniqueId id;
    exchange(&id, library.rank, argv[3]);
    must(ncclCommInitRank(&comm, n_ranks, id, library.rank));
    measure_all(&library, n_ranks, argc - 4, argv + 4);
    must(ncclCommDestroy(comm));
    return 0;
}
