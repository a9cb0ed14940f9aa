/* What the C programs of the tests share: checks that end the program, and meeting by a file. */
#ifndef JCCL_TEST_CLIENT_H_
#define JCCL_TEST_CLIENT_H_

#include <nccl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAIL(...)                                           \
    do {                                                    \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);     \
        fprintf(stderr, __VA_ARGS__);                       \
        fprintf(stderr, " [%s]\n", ncclGetLastError(NULL)); \
        exit(1);                                            \
    } while (0)

#define REQUIRE(condition)                    \
    do {                                      \
        if (!(condition)) {                   \
            FAIL("%s is not so", #condition); \
        }                                     \
    } while (0)

#define EXPECT(code, call)                                        \
    do {                                                          \
        ncclResult_t got_ = (call);                               \
        if (got_ != (code)) {                                     \
            FAIL("%s gave %d, not %d", #call, (int)got_, (code)); \
        }                                                         \
    } while (0)

#define OK(call) EXPECT(ncclSuccess, call)

/* The id that rank 0 makes; the others read it from the file. */
static inline ncclUniqueId meet(const char* file, int rank) {
    alarm(600); /* a rank whose peers have failed must not stay for ever */
    ncclUniqueId id;
    char temporary[4096];
    if (rank == 0) {
        OK(ncclGetUniqueId(&id));
        REQUIRE((size_t)snprintf(temporary, sizeof temporary, "%s.new", file) < sizeof temporary);
        FILE* out = fopen(temporary, "wb");
        REQUIRE(out != NULL && fwrite(&id, sizeof id, 1, out) == 1 && fclose(out) == 0);
        REQUIRE(rename(temporary, file) == 0);
        return id;
    }
    for (;;) {
        FILE* in = fopen(file, "rb");
        if (in != NULL) {
            REQUIRE(fread(&id, sizeof id, 1, in) == 1);
            fclose(in);
            return id;
        }
        usleep(1000);
    }
}

/* Polls until the communicator is ready. */
static inline void settle(ncclComm_t comm) {
    ncclResult_t state = ncclInProgress;
    while (state == ncclInProgress) {
        OK(ncclCommGetAsyncError(comm, &state));
        usleep(200);
    }
    if (state != ncclSuccess) {
        FAIL("the communicator ended in state %d", (int)state);
    }
}

/* A call that may answer ncclInProgress, and then the end of what it started. */
#define EVENTUALLY(call, comm)                               \
    do {                                                     \
        ncclResult_t got_ = (call);                          \
        if (got_ != ncclSuccess && got_ != ncclInProgress) { \
            FAIL("%s gave %d", #call, (int)got_);            \
        }                                                    \
        settle(comm);                                        \
    } while (0)

#endif
