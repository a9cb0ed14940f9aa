/*
 * JCCL's functions beyond NCCL's. They let a program wait in slices, start operations on any
 * communicator without waiting, and decide how JCCL behaves in the process (Java, signals). Both
 * libraries (libjccl.so and libnccl.so.2) export them.
 */
#ifndef JCCL_H_
#define JCCL_H_

#include "nccl.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Waiting in slices, so that a language runtime can look after its signals. */

/* How a blocking call waits. The caller owns the memory. */
typedef struct {
    int ms;     /* set by the caller: how long the call may keep the thread; 0: to its end */
    int parked; /* set to 1 by a call that is not over after ms milliseconds */
} jcclSlice;
/*
 * Makes blocking calls of this thread look at *slice, which must live as long as the thread makes
 * calls; NULL, the default, ends that. While slice->ms is positive, a call that cannot finish in
 * that time returns ncclInProgress and is parked. Everything that its pointers point at must stay
 * until the call has been resumed to its end or interrupted. Set ms before a call and set it back
 * afterwards: other code may make calls on the thread, too, and does not expect them to be parked.
 */
ncclResult_t jcclSliced(jcclSlice* slice);
/*
 * Continues this thread's parked call for at most slice->ms milliseconds; if several calls are
 * parked, the youngest one. Returns the call's result, ncclInProgress if the call is parked again,
 * or ncclInvalidUsage if no call is parked.
 */
ncclResult_t jcclResume(void);
/*
 * Ends this thread's parked call: revokes the communicators that it waits for, and tells the peers
 * that this rank was interrupted. Returns the call's result.
 */
ncclResult_t jcclInterrupt(void);
/*
 * Revokes a communicator in the same way, for a caller that no longer wants to wait for its started
 * operations. They fail on this rank, and on the peers because this rank was interrupted.
 */
ncclResult_t jcclCommInterrupt(ncclComm_t comm);

/* Asynchronous forms, on blocking communicators too. */

/* Numbers of operations, as NCCL's plugins see them. */
enum {
    /* operations written by NumbersTest */
    jcclBroadcast = 0,
    jcclReduce = 1,
    jcclAllGather = 2,
    jcclReduceScatter = 3,
    jcclAllReduce = 4,
    jcclSend = 6,
    jcclRecv = 7,
    jcclAlltoAll = 8,
    jcclScatter = 9,
    jcclGather = 10
    /* operations end */
};

/*
 * Starts an operation and lends this thread to it for at most ms milliseconds, as jcclPoll does.
 * With ms 0 or less the thread only advances the operation as far as it goes without waiting. If
 * nothing else is under way and every rank of the node has a core, it may also wait for the other
 * ranks of a collective of up to 256 KiB, for at most half a millisecond. In an open group ms is
 * ignored. ncclSuccess: the operation is complete, or part of the open group, and *ticket is 0.
 * ncclInProgress: it is queued behind the communicator's earlier operations and progresses by
 * itself; *ticket names it. Buffers must stay until it is complete. JCCL reads op and rootOrPeer
 * only if the operation has them.
 */
ncclResult_t jcclStart(int operation, const void* sendbuff, void* recvbuff, size_t count,
                       ncclDataType_t datatype, ncclRedOp_t op, int rootOrPeer, ncclComm_t comm,
                       int ms, uint64_t* ticket);
/*
 * Like jcclStart, for an operation that also copies in its turn. It copies before it begins, once
 * all earlier collectives are over, and again after it has succeeded, before anybody can see that.
 * AlltoAll may also consist of sends and receives, whose sizes may differ from pair to pair. This
 * form has a place in the order of the collectives, and its messages are kept apart from those of
 * ncclSend. All ranks must use the same form of AlltoAll. Host communicators only.
 *
 * words has n numbers. JCCL reads them before the call returns:
 *   operation, sendbuff, recvbuff, count, datatype, op, rootOrPeer as in jcclStart. AlltoAll
 *       consists of sends and receives if both buffers are 0; count and datatype then need only be
 *       equal on all ranks;
 *   the number of copies before, the number of transfers (0 unless AlltoAll consists of sends and
 *       receives), and the number of copies after;
 *   then the copies and transfers themselves, one after the other:
 *   a copy: source, target, bytes of an element, number of dimensions (64 at most), and for each
 *       dimension: the number of elements, the bytes from one element to the next at the source,
 *       and the same at the target. If source and target overlap, the result is undefined;
 *   a transfer: jcclSend or jcclRecv, buffer, count, datatype, peer (another rank). The transfers
 *       between two ranks match by their order.
 */
ncclResult_t jcclStartComposed(const int64_t* words, size_t n, ncclComm_t comm, int ms,
                               uint64_t* ticket);
/*
 * Lends this thread to a started operation for at most ms milliseconds; with 0 it only looks. With
 * less than 0 it only looks, too, and if the operation is not over, its end will be counted, which
 * ends jcclWaitCompletion. comm is the communicator of jcclStart. ncclSuccess: the operation is
 * complete. ncclInProgress: it is not. ncclInvalidArgument: the ticket was never given, or comm is
 * not a communicator. Any other code says why the operation failed; the ticket then stays, and each
 * poll returns the code again.
 */
ncclResult_t jcclPoll(ncclComm_t comm, uint64_t ticket, int ms);
/*
 * Abandons the group that this thread has open: its end launches nothing. Unless the group has an
 * error already, its error is that the body of the group threw an exception. Does nothing if no
 * group is open.
 */
ncclResult_t jcclAbandonGroup(void);
/*
 * JCCL counts the ends of those started operations of this process for which jcclPoll was asked to
 * do so. Waits until this number differs from seen, a number that it has returned before jcclPoll
 * was asked, but for at most ms milliseconds. Writes the number to *now. Meanwhile the thread may
 * progress operations of any communicator for which nobody waits.
 */
ncclResult_t jcclWaitCompletion(uint64_t seen, int ms, uint64_t* now);

/* Communicators. */

/*
 * A configuration with what NCCL's has no field for. Functions that take an ncclConfig_t take the
 * address of nccl. NVIDIA's library, given one, does not look at the rest.
 */
typedef struct {
    ncclConfig_t nccl;
    uint64_t jcclMagic;
    /* What the buffers belong to, as in JCCL_DEVICE: "host", "cuda", "cuda:1"; NULL: what that
     * says. In a split, that of the parent. The string must stay until the call returns. */
    const char* device;
} jcclConfig_t;
#define JCCL_CONFIG_MAGIC 0x4746436c63636aULL
/* Fills a jcclConfig_t with defaults. */
static inline void jcclConfigInit(jcclConfig_t* config) {
    const ncclConfig_t defaults = NCCL_CONFIG_INITIALIZER;
    config->nccl = defaults;
    config->nccl.size = sizeof(jcclConfig_t);
    config->jcclMagic = JCCL_CONFIG_MAGIC;
    config->device = NULL;
}

/* The time limit of each operation in milliseconds, 0 for none. */
ncclResult_t jcclCommOptions(ncclComm_t comm, int64_t timeoutMs);

/*
 * For a garbage collector that finds a communicator which nobody has destroyed: warns, and ends the
 * communicator in the background. Operations that are under way have 5 s to complete. Never waits.
 * ncclSuccess: the end begins. ncclInProgress: it has begun, and buffers may still be in use.
 * ncclInvalidArgument, which is not logged: the communicator does not exist, or no longer exists.
 */
ncclResult_t jcclCommDrop(ncclComm_t comm);

/*
 * Places of the counters of jcclCommStats. At jcclStatOperations + an operation's number: how often
 * it was called. At jcclStatBytes...: the bytes that each transport has moved. At jcclStatPayload +
 * an operation's number: its payload in bytes.
 */
enum {
    jcclStatOperations = 0,
    jcclStatBytesSelf = 16,
    jcclStatBytesShm = 17,
    jcclStatBytesNet = 18,
    jcclStatPayload = 24,
    jcclStatCount = 40
};
/*
 * Fills out[0..n-1] with the counters since the communicator was made, and unknown places with 0.
 */
ncclResult_t jcclCommStats(ncclComm_t comm, uint64_t* out, int n);

/* The process. */

/* Starts Java now instead of at the first call that needs it. */
ncclResult_t jcclJavaStart(void);
/* 1 if Java runs in this process and can be called, else 0. */
int jcclJavaStarted(void);
/* The Java home that JCCL uses or would use; NULL if it has none: ncclGetLastError says why. */
const char* jcclJavaHome(void);
/* JCCL's version, such as "0.1.0". Starts nothing. */
const char* jcclVersionString(void);
/*
 * Leaves all communicators of the process in good order, and waits up to a second until their last
 * bytes have arrived. A communicator that has sent only half of a frame to a peer gets two seconds
 * more, one communicator after the other. No communicator can be used afterwards; peers that wait
 * for one learn that this rank has left. Without Java this does nothing.
 */
ncclResult_t jcclShutdown(void);
/* Waits until the kernels are compiled, for at most ms milliseconds. For benchmarks. */
ncclResult_t jcclWarm(int ms);
/*
 * Puts the JVM's handlers of SIGSEGV, SIGBUS, SIGFPE and SIGILL back if other code has replaced
 * them, such as Python's faulthandler; compiled Java code needs them. Returns how many handlers it
 * has put back; 0 before Java has been started.
 */
int jcclRestoreSignals(void);

#ifdef __cplusplus
}
#endif

#endif
