/*
 * What JCCL offers beyond NCCL: waiting in slices, asynchronous forms on any communicator, and the
 * manners of a guest (Java, signals, fork). Both libraries (libjccl.so and libnccl.so.2) export it.
 */
#ifndef JCCL_H_
#define JCCL_H_

#include "nccl.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Waiting in slices, so that a language runtime can look after its signals. */

/* How one blocking call waits. It lies with whoever makes the call. */
typedef struct {
    int ms;     /* of the caller: how long the call may keep the thread; 0: until its end */
    int parked; /* set to 1 by a call that is not over after ms milliseconds */
} jcclSlice;
/*
 * Of this thread only: blocking calls look at *slice from now on, which must live as long as the
 * thread makes calls; NULL, the default, switches this off. While slice->ms is positive, a call
 * that cannot finish in time returns ncclInProgress and is parked: what its pointers point at must
 * stay until it has been resumed to its end or interrupted. Both are for the caller whose slice
 * says so; since other code may make calls on the thread too, ms is set before a call and taken
 * back after it.
 */
ncclResult_t jcclSliced(jcclSlice* slice);
/*
 * Continues this thread's parked call, the youngest of several, for slice->ms milliseconds at most:
 * its result, or ncclInProgress if it is parked again. ncclInvalidUsage if nothing is parked.
 */
ncclResult_t jcclResume(void);
/*
 * Ends this thread's parked call: the communicators it waits for are revoked, the peers learn that
 * this rank was interrupted. Returns the call's result.
 */
ncclResult_t jcclInterrupt(void);
/*
 * Revokes a communicator whose started operations nobody wants to wait for any more, in the same
 * way: its operations fail here, and on the peers because this rank was interrupted.
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
 * Starts an operation, and lends this thread to it for at most ms milliseconds, as jcclPoll does.
 * With 0 or less the thread only advances it as far as it goes without waiting; a collective of up
 * to 256 KiB beside which nothing is under way, on ranks that have a core each, it may also carry
 * through, where the others come within half a millisecond, as they often do. In an open group ms
 * is ignored. ncclSuccess: it is complete, or part of the open group, and *ticket 0.
 * ncclInProgress: it is queued behind the communicator's earlier ones and progresses by itself;
 * *ticket names it. Buffers must stay until it is complete. op and rootOrPeer are read where the
 * operation has them.
 */
ncclResult_t jcclStart(int operation, const void* sendbuff, void* recvbuff, size_t count,
                       ncclDataType_t datatype, ncclRedOp_t op, int rootOrPeer, ncclComm_t comm,
                       int ms, uint64_t* ticket);
/*
 * As jcclStart, for an operation that also copies in its turn: before it begins, which is when the
 * collectives that were called before it are over, and after it has succeeded, before that shows.
 * AlltoAll may also be sends and receives, of sizes that differ from pair to pair, with a place in
 * the order of the collectives; those of jcclSend and ncclSend are not mixed up with them. A rank
 * that does it in this way and one that does it in the other have called differently. Host
 * communicators only.
 *
 * words has n numbers, which are read before the call returns:
 *   operation, sendbuff, recvbuff, count, datatype, op, rootOrPeer as of jcclStart. AlltoAll is
 *       sends and receives where both buffers are 0; count and datatype must then only be equal on
 *       all ranks;
 *   how many copies before, transfers (0 but for that) and copies after there are;
 *   then these, one after the other:
 *   a copy: source, target, bytes of an element, dimensions (64 at most), and for each dimension:
 *       elements, bytes from one to the next at the source, the same at the target. Where
 *       the two overlap, what arrives is undefined;
 *   a transfer: jcclSend or jcclRecv, buffer, count, datatype, peer (another rank). Those of a pair
 *       of ranks match by their order.
 */
ncclResult_t jcclStartComposed(const int64_t* words, size_t n, ncclComm_t comm, int ms,
                               uint64_t* ticket);
/*
 * Lends this thread to a started operation for at most ms milliseconds (0: just looks). comm is the
 * communicator of jcclStart. ncclSuccess: it is complete. ncclInProgress: it is not.
 * ncclInvalidArgument: the ticket was never given, or comm is no communicator. Any other code is
 * why it failed; the ticket then stays, and each poll says so again.
 */
ncclResult_t jcclPoll(ncclComm_t comm, uint64_t ticket, int ms);
/*
 * The end of the group that this thread has open launches nothing: its first error, unless it has
 * one already, is that the body of the group threw an exception. Without an open group nothing.
 */
ncclResult_t jcclAbandonGroup(void);
/*
 * Waits until the process-wide number of finished started operations differs from seen, or for ms
 * milliseconds; *now is that number.
 */
ncclResult_t jcclWaitCompletion(uint64_t seen, int ms, uint64_t* now);

/* Communicators. */

/* The time limit of each operation in milliseconds, 0 for none. */
ncclResult_t jcclCommOptions(ncclComm_t comm, int64_t timeoutMs);

/*
 * For garbage collectors that find a communicator which nobody has destroyed: warns, and ends it in
 * the background, where operations that are under way have 5 s to complete. Never waits.
 * ncclSuccess: that begins; ncclInProgress: it has begun and buffers may still be in use;
 * ncclInvalidArgument, which is not logged: there is no such communicator, or no more.
 */
ncclResult_t jcclCommDrop(ncclComm_t comm);

/*
 * Places of jcclCommStats: how often each operation was called, at its number; bytes moved by each
 * transport; and the payload of each operation in bytes, at jcclStatPayload and its number.
 */
enum {
    jcclStatOperations = 0,
    jcclStatBytesSelf = 16,
    jcclStatBytesShm = 17,
    jcclStatBytesNet = 18,
    jcclStatPayload = 24,
    jcclStatCount = 40
};
/* Fills out[0..n-1] with counters since the communicator was made; unknown places are 0. */
ncclResult_t jcclCommStats(ncclComm_t comm, uint64_t* out, int n);

/* The process. */

/* Starts Java now instead of at the first call that needs it. */
ncclResult_t jcclJavaStart(void);
/* 1 if Java runs in this process and can be called, else 0. */
int jcclJavaStarted(void);
/* The Java home that would be or was used; NULL with the reason in ncclGetLastError. */
const char* jcclJavaHome(void);
/* JCCL's version, such as "0.1.0". Starts nothing. */
const char* jcclVersionString(void);
/*
 * Leaves all communicators of the process in good order, and gives their last bytes up to a second
 * to arrive; one whose frame to a peer is half sent, two seconds more to end it, one after the
 * other. They cannot be used afterwards; peers that wait for them learn that the rank has left.
 * Without Java there is nothing to do.
 */
ncclResult_t jcclShutdown(void);
/* Waits until the kernels are compiled, at most ms milliseconds; for benchmarks. */
ncclResult_t jcclWarm(int ms);
/*
 * Puts the JVM's handlers of SIGSEGV, SIGBUS, SIGFPE and SIGILL back where something else (such as
 * Python's faulthandler) has replaced them; compiled Java code needs them. Returns how many it
 * replaced; 0 before Java has been started.
 */
int jcclRestoreSignals(void);

#ifdef __cplusplus
}
#endif

#endif
