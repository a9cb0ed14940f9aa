/* misuse CASE...: a wrong call, on a second thread and then, with everything made anew, on this
 * one. Prints for each the code that it returned and, on the next line, the last error. What was
 * right before must be so afterwards. */
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/wait.h>

#include "client.h"

static ncclUniqueId id;
static ncclComm_t comm;
static ncclComm_t other;
static ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
static float x = 3;
static float y;
static int number;
static ncclResult_t state;
static char sentence[1024]; /* of a call that another process made */

/* ---- what is so before the wrong call ---- */

static void nothing(void) {}

static void an_id(void) {
    OK(ncclGetUniqueId(&id));
}

static void one_rank(void) {
    an_id();
    OK(ncclCommInitRank(&comm, 1, id, 0));
}

static void destroyed(void) {
    one_rank();
    OK(ncclCommDestroy(comm));
    other = comm;
    comm = NULL;
}

/* A new communicator has the place of the old one. */
static void replaced(void) {
    destroyed();
    one_rank();
}

static void aborted(void) {
    one_rank();
    OK(ncclCommAbort(comm));
    other = comm;
    comm = NULL;
}

static void finalized(void) {
    one_rank();
    OK(ncclCommFinalize(comm));
    other = comm;
    comm = NULL;
}

/* Its peer has not come. */
static void in_progress(void) {
    an_id();
    config.blocking = 0;
    EXPECT(ncclInProgress, ncclCommInitRankConfig(&other, 2, id, 0, &config));
}

static void wrong_magic(void) {
    an_id();
    config.magic = 1;
}

static void wrong_blocking(void) {
    an_id();
    config.blocking = 2;
}

static void no_device(void) {
    an_id();
    REQUIRE(setenv("JCCL_DEVICE", "cuda:9", 1) == 0);
}

static void rank_0_waits(void) {
    in_progress();
}

/* ---- wrong calls ---- */

#define WRONG(name, call)            \
    static ncclResult_t name(void) { \
        return call;                 \
    }
#define ALL_REDUCE(in, out, count, type, op, comm, stream) \
    ncclAllReduce(in, out, count, type, op, comm, (void*)(stream))

WRONG(destroy, ncclCommDestroy(other))
WRONG(abort_it, ncclCommAbort(other))
WRONG(finalize, ncclCommFinalize(other))
WRONG(reduce_on_it, ALL_REDUCE(&x, &y, 1, ncclFloat, ncclSum, other, 0))
WRONG(count_it, ncclCommCount(other, &number))
WRONG(split_it, ncclCommSplit(other, 0, 0, &other, NULL))
WRONG(no_comm, ALL_REDUCE(&x, &y, 1, ncclFloat, ncclSum, NULL, 0))
WRONG(no_handle, ALL_REDUCE(&x, &y, 1, ncclFloat, ncclSum, (ncclComm_t)&x, 0))
WRONG(ask_no_comm, ncclCommGetAsyncError(NULL, &state))
WRONG(no_id, ncclGetUniqueId(NULL))
WRONG(no_place_for_comm, ncclCommInitRank(NULL, 1, id, 0))
WRONG(no_place_for_count, ncclCommCount(comm, NULL))
WRONG(no_place_for_child, ncclCommSplit(comm, 0, 0, NULL, NULL))
WRONG(no_ranks, ncclCommInitRank(&other, 0, id, 0))
WRONG(too_many_ranks, ncclCommInitRank(&other, INT_MAX, id, 0))
WRONG(rank_too_large, ncclCommInitRank(&other, 2, id, 2))
WRONG(rank_negative, ncclCommInitRank(&other, 2, id, -1))
WRONG(init_by_config, ncclCommInitRankConfig(&other, 1, id, 0, &config))
WRONG(color_negative, ncclCommSplit(comm, -2, 0, &other, NULL))
WRONG(unknown_type, ALL_REDUCE(&x, &y, 1, (ncclDataType_t)99, ncclSum, comm, 0))
WRONG(unknown_op, ALL_REDUCE(&x, &y, 1, ncclFloat, (ncclRedOp_t)77, comm, 0))
WRONG(unknown_root, ncclBroadcast(&x, &y, 1, ncclFloat, 1, comm, NULL))
WRONG(unknown_peer, ncclSend(&x, 1, ncclFloat, 5, comm, NULL))
WRONG(negative_peer, ncclRecv(&x, 1, ncclFloat, -1, comm, NULL))
WRONG(a_stream, ALL_REDUCE(&x, &y, 1, ncclFloat, ncclSum, comm, 0x10))
WRONG(no_send_buffer, ALL_REDUCE(NULL, &y, 1, ncclFloat, ncclSum, comm, 0))
WRONG(no_receive_buffer, ALL_REDUCE(&x, NULL, 1, ncclFloat, ncclSum, comm, 0))
WRONG(count_overflows, ALL_REDUCE(&x, &y, SIZE_MAX / 2, ncclFloat, ncclSum, comm, 0))
WRONG(buffers_overlap, ALL_REDUCE(&x, (char*)&x + 1, 1, ncclFloat, ncclSum, comm, 0))
WRONG(not_done, ncclReduceConfig(&x, &y, 1, ncclFloat, ncclSum, 0, comm, NULL, NULL))
WRONG(end_without_start, ncclGroupEnd())

/* The group's end repeats the first error and closes the group. */
static ncclResult_t wrong_in_a_group(void) {
    OK(ncclGroupStart());
    EXPECT(ncclInvalidArgument, unknown_root());
    return ncclGroupEnd();
}

static ncclResult_t mixed_in_a_group(void) {
    ncclComm_t first;
    ncclComm_t second;
    ncclUniqueId next;
    OK(ncclGetUniqueId(&next));
    config.blocking = 0;
    OK(ncclGroupStart());
    ncclCommInitRank(&first, 1, id, 0);
    EXPECT(ncclInvalidArgument, ncclCommInitRankConfig(&second, 1, next, 0, &config));
    return ncclGroupEnd();
}

static ncclResult_t both_used_in_a_group(void) {
    ncclComm_t second;
    ncclUniqueId next;
    ncclResult_t state;
    OK(ncclGetUniqueId(&next));
    config.blocking = 0;
    EXPECT(ncclInProgress, ncclCommInitRankConfig(&second, 1, next, 0, &config));
    do {
        OK(ncclCommGetAsyncError(second, &state));
    } while (state == ncclInProgress);
    OK(ncclGroupStart());
    OK(ALL_REDUCE(&x, &y, 1, ncclFloat, ncclSum, comm, 0));
    EXPECT(ncclInvalidArgument, ALL_REDUCE(&x, &y, 1, ncclFloat, ncclSum, second, 0));
    ncclResult_t ended = ncclGroupEnd();
    snprintf(sentence, sizeof sentence, "%s", ncclGetLastError(NULL));
    OK(ncclCommAbort(second));
    return ended;
}

/* A group that nobody closes keeps its operations, and nobody else from theirs. */
static ncclResult_t start_without_end(void) {
    OK(ncclGroupStart());
    OK(ALL_REDUCE(&x, &y, 1, ncclFloat, ncclSum, comm, 0));
    REQUIRE(y == 0);
    return ncclSuccess;
}

static ncclResult_t same_number_twice(void) {
    ncclComm_t third;
    EXPECT(ncclInProgress, ncclCommInitRankConfig(&third, 2, id, 0, &config));
    do {
        OK(ncclCommGetAsyncError(third, &state));
        usleep(200);
    } while (state == ncclInProgress);
    ncclResult_t found = state;
    OK(ncclCommAbort(third));
    return found;
}

static ncclResult_t id_twice(void) {
    return ncclCommInitRank(&other, 1, id, 0);
}

static ncclResult_t in_a_forked_child(void) {
    int pipes[2];
    struct {
        ncclResult_t code;
        char text[1024];
    } answer;
    REQUIRE(pipe(pipes) == 0);
    pid_t child = fork();
    if (child == 0) {
        answer.code = ALL_REDUCE(&x, &y, 1, ncclFloat, ncclSum, comm, 0);
        snprintf(answer.text, sizeof answer.text, "%s", ncclGetLastError(NULL));
        _exit(write(pipes[1], &answer, sizeof answer) == sizeof answer ? 0 : 1);
    }
    REQUIRE(read(pipes[0], &answer, sizeof answer) == sizeof answer);
    REQUIRE(waitpid(child, &number, 0) == child && number == 0);
    snprintf(sentence, sizeof sentence, "%s", answer.text);
    return answer.code;
}

/* Two threads destroy at once: one succeeds, the other is told. */
static void* destroys(void* result) {
    *(ncclResult_t*)result = ncclCommDestroy(other);
    return NULL;
}

static ncclResult_t destroy_races_destroy(void) {
    ncclResult_t theirs = ncclSuccess;
    ncclResult_t mine = ncclSuccess;
    for (int i = 0; i < 50; i++) {
        an_id();
        OK(ncclCommInitRank(&other, 1, id, 0));
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, destroys, &theirs) == 0);
        mine = ncclCommDestroy(other);
        REQUIRE(pthread_join(thread, NULL) == 0);
        REQUIRE((mine == ncclSuccess) + (theirs == ncclSuccess) == 1);
        REQUIRE(mine + theirs == ncclInvalidArgument);
    }
    return mine + theirs;
}

static atomic_int reductions;

static void* reduces(void* result) {
    float sum = 0;
    ncclResult_t code = ncclSuccess;
    while (code == ncclSuccess) {
        code = ALL_REDUCE(&x, &sum, 1, ncclFloat, ncclSum, other, 0);
        REQUIRE(code != ncclSuccess || sum == x);
        reductions++;
    }
    *(ncclResult_t*)result = code;
    return NULL;
}

static ncclResult_t destroy_races_operations(void) {
    ncclResult_t theirs = ncclSuccess;
    for (int i = 0; i < 50; i++) {
        an_id();
        OK(ncclCommInitRank(&other, 1, id, 0));
        pthread_t thread;
        reductions = 0;
        REQUIRE(pthread_create(&thread, NULL, reduces, &theirs) == 0);
        while (reductions < i) {
            sched_yield();
        }
        OK(ncclCommDestroy(other));
        REQUIRE(pthread_join(thread, NULL) == 0);
        REQUIRE(theirs == ncclInvalidArgument || theirs == ncclInvalidUsage);
    }
    return ncclSuccess;
}

/* ---- the table ---- */

static const struct {
    const char* name;
    void (*before)(void);
    ncclResult_t (*wrong)(void);
} cases[] = {
    {"destroy twice", destroyed, destroy},
    {"abort twice", aborted, abort_it},
    {"finalize twice", finalized, finalize},
    {"use after destroy", destroyed, reduce_on_it},
    {"use after abort", aborted, reduce_on_it},
    {"use after finalize", finalized, reduce_on_it},
    {"use of an old handle", replaced, reduce_on_it},
    {"query after destroy", destroyed, count_it},
    {"split after destroy", destroyed, split_it},
    {"use in progress", in_progress, reduce_on_it},
    {"destroy in progress", in_progress, destroy},
    {"never a communicator", one_rank, no_handle},
    {"no communicator", nothing, no_comm},
    {"state of no communicator", nothing, ask_no_comm},
    {"no place for the id", nothing, no_id},
    {"no place for the communicator", an_id, no_place_for_comm},
    {"no place for the answer", one_rank, no_place_for_count},
    {"no place for the child", one_rank, no_place_for_child},
    {"no ranks", an_id, no_ranks},
    {"too many ranks", an_id, too_many_ranks},
    {"rank too large", an_id, rank_too_large},
    {"rank negative", an_id, rank_negative},
    {"configuration not initialized", wrong_magic, init_by_config},
    {"configuration out of range", wrong_blocking, init_by_config},
    {"unknown device", no_device, init_by_config},
    {"color negative", one_rank, color_negative},
    {"unknown type", one_rank, unknown_type},
    {"unknown operation", one_rank, unknown_op},
    {"unknown root", one_rank, unknown_root},
    {"unknown peer", one_rank, unknown_peer},
    {"negative peer", one_rank, negative_peer},
    {"a stream", one_rank, a_stream},
    {"no send buffer", one_rank, no_send_buffer},
    {"no receive buffer", one_rank, no_receive_buffer},
    {"count overflows", one_rank, count_overflows},
    {"buffers overlap", one_rank, buffers_overlap},
    {"not done yet", one_rank, not_done},
    {"group end without start", one_rank, end_without_start},
    {"group start without end", one_rank, start_without_end},
    {"error in a group", one_rank, wrong_in_a_group},
    {"blocking and not in a group", an_id, mixed_in_a_group},
    {"blocking and not, both used", one_rank, both_used_in_a_group},
    {"one number twice", rank_0_waits, same_number_twice},
    {"id used twice", destroyed, id_twice},
    {"forked child", one_rank, in_a_forked_child},
    {"destroy races destroy", nothing, destroy_races_destroy},
    {"destroy races operations", nothing, destroy_races_operations},
};

static ncclResult_t code;

static void* make(void* wrong) {
    code = ((ncclResult_t (*)(void))wrong)();
    if (sentence[0] == 0) {
        snprintf(sentence, sizeof sentence, "%s", ncclGetLastError(NULL));
    }
    return NULL;
}

static void try(size_t i, int second) {
    sentence[0] = 0;
    comm = NULL;
    y = 0;
    config = (ncclConfig_t)NCCL_CONFIG_INITIALIZER;
    cases[i].before();
    if (second) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, make, (void*)cases[i].wrong) == 0);
        REQUIRE(pthread_join(thread, NULL) == 0);
    } else {
        make((void*)cases[i].wrong);
    }
    printf("%d\n%s\n", (int)code, sentence);
    if (comm != NULL && cases[i].wrong != start_without_end) {
        OK(ALL_REDUCE(&x, &y, 1, ncclFloat, ncclSum, comm, 0));
        REQUIRE(y == x);
        OK(ncclCommDestroy(comm));
    }
}

static size_t find(const char* name) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].name, name) == 0) {
            return i;
        }
    }
    FAIL("there is no case %s", name);
}

int main(int argc, char** argv) {
    REQUIRE(argc > 1);
    for (int k = 1; k < argc; k++) {
        size_t i = find(argv[k]);
        try(i, 1);
        try(i, 0);
    }
    return 0;
}
