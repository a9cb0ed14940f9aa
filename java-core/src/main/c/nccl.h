/*
 * JCCL's own nccl.h: the C interface of NCCL 2.32.3 (names, numbers and structure layouts), so that
 * programs written for NCCL compile and link unchanged. It needs no CUDA header: a stream is an
 * opaque pointer. A program that uses CUDA may include cuda_runtime.h before or after this file.
 *
 * Counts are always elements. If a function that returns ncclResult_t fails, ncclGetLastError says
 * more about it. DIFFERENCES.md lists what JCCL does differently.
 */
#ifndef NCCL_H_
#define NCCL_H_

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#define NCCL_MAJOR 2
#define NCCL_MINOR 32
#define NCCL_PATCH 3
#define NCCL_SUFFIX ""
#define NCCL_VERSION_CODE 23203
/* Releases up to 2.8 had one digit less for the minor number. */
#define NCCL_VERSION(X, Y, Z)                                           \
    (((X) < 2 || ((X) == 2 && (Y) <= 8)) ? (X) * 1000 + (Y) * 100 + (Z) \
                                         : (X) * 10000 + (Y) * 100 + (Z))

#ifdef __cplusplus
extern "C" {
#endif

/* C11 and C++ allow the same typedef twice, so only older C needs the guard. */
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L) || \
    !(defined(__CUDA_RUNTIME_H__) || defined(__DRIVER_TYPES_H__))
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
#endif

/* Handles and constants. */

typedef struct ncclComm* ncclComm_t;
typedef struct ncclWindow_vidmem* ncclWindow_t;
typedef struct ncclParamHandle* ncclParamHandle_t;

#define NCCL_COMM_NULL NULL

/* The name under which the ranks of one communicator meet. It holds a secret: do not print it. */
#define NCCL_UNIQUE_ID_BYTES 128
typedef struct {
    char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

#define NCCL_API_MAGIC 0xcafebeef

#define NCCL_CONFIG_UNDEF_INT INT_MIN
#define NCCL_CONFIG_UNDEF_PTR NULL
#define NCCL_UNDEF_FLOAT (-1.0f)

#define NCCL_SPLIT_NOCOLOR (-1)

#define NCCL_WIN_DEFAULT 0x00
#define NCCL_WIN_COLL_SYMMETRIC 0x01
#define NCCL_WIN_STRICT_ORDERING 0x02
#define NCCL_WIN_GIN_ONLY 0x04
#define NCCL_WIN_CFT_COUNTED 0x08
#define NCCL_WIN_REQUIRED_ALIGNMENT 4096

#define NCCL_CTA_POLICY_DEFAULT 0x00
#define NCCL_CTA_POLICY_EFFICIENCY 0x01
#define NCCL_CTA_POLICY_ZERO 0x02

#define NCCL_SHRINK_DEFAULT 0x00
#define NCCL_SHRINK_ABORT 0x01
#define NCCL_REVOKE_DEFAULT 0x00
#define NCCL_SUSPEND_MEM 0x01

typedef enum {
    /* ncclResult_t written by NumbersTest */
    ncclSuccess = 0,
    ncclUnhandledCudaError = 1,
    ncclSystemError = 2,
    ncclInternalError = 3,
    ncclInvalidArgument = 4,
    ncclInvalidUsage = 5,
    ncclRemoteError = 6,
    ncclInProgress = 7,
    ncclTimeout = 8,
    /* ncclResult_t end */
    ncclNumResults = 9
} ncclResult_t;

typedef enum {
    /* ncclDataType_t written by NumbersTest */
    ncclInt8 = 0,
    ncclChar = 0,
    ncclUint8 = 1,
    ncclInt32 = 2,
    ncclInt = 2,
    ncclUint32 = 3,
    ncclInt64 = 4,
    ncclUint64 = 5,
    ncclFloat16 = 6,
    ncclHalf = 6,
    ncclFloat32 = 7,
    ncclFloat = 7,
    ncclFloat64 = 8,
    ncclDouble = 8,
    ncclBfloat16 = 9,
    ncclFloat8e4m3 = 10,
    ncclFloat8e5m2 = 11,
    /* ncclDataType_t end */
    ncclNumTypes = 12
} ncclDataType_t;

typedef enum { ncclNumOps_dummy = 5 } ncclRedOp_dummy_t;
/* Values from ncclNumOps on are handles of ncclRedOpCreate*. */
typedef enum {
    /* ncclRedOp_t written by NumbersTest */
    ncclSum = 0,
    ncclProd = 1,
    ncclMax = 2,
    ncclMin = 3,
    ncclAvg = 4,
    /* ncclRedOp_t end */
    ncclNumOps = 5,
    ncclMaxRedOp = 0x7fffffff
} ncclRedOp_t;

typedef enum { ncclScalarDevice = 0, ncclScalarHostImmediate = 1 } ncclScalarResidence_t;

typedef enum {
    ncclStatGpuMemSuspend = 0,
    ncclStatGpuMemSuspended = 1,
    ncclStatGpuMemPersist = 2,
    ncclStatGpuMemTotal = 3
} ncclCommMemStat_t;

typedef enum {
    ncclHostCftDefault = INT_MIN,
    ncclHostCftEnable = 1,
    ncclHostCftDisable = 2,
    ncclHostCftFallback = 3
} ncclHostCftMode_t;

/* The values are bits, except for the first and the last one. */
typedef enum {
    ncclNvlsHostModeDefault = INT_MIN,
    ncclNvlsHostModeEnable = 0,
    ncclNvlsHostModeDisableTransport = 1,
    ncclNvlsHostModeDisableSymmetricMultimem = 2,
    ncclNvlsHostModeDisable = INT_MAX
} ncclNvlsHostMode_t;

typedef enum { NCCL_ENCRYPTION_MODE_NONE = 0, NCCL_ENCRYPTION_MODE_PSK = 1 } ncclEncryptionMode_t;

/* Structures. Make each by its initializer, which fills size, magic and version. */

/* How a communicator behaves. On host ranks only blocking and commName have an effect. */
typedef struct ncclConfig_v23100 {
    size_t size;
    unsigned int magic;
    unsigned int version;
    int blocking;
    int cgaClusterSize;
    int minCTAs;
    int maxCTAs;
    const char* netName;
    int splitShare;
    int trafficClass;
    const char* commName;
    int collnetEnable;
    int CTAPolicy;
    int shrinkShare;
    int nvlsCTAs;
    int nChannelsPerNetPeer;
    int nvlinkCentricSched;
    int graphUsageMode;
    int numRmaCtx;
    int maxP2pPeers;
    int graphStreamOrdering;
    int launchOrderImplicit;
    int numRmaSig;
    int rmaEagerInit;
    int hostCftMode;
    int nvlsHostMode;
} ncclConfig_t;

/* clang-format off */
#define NCCL_CONFIG_INITIALIZER                                                             \
    {                                                                                       \
        sizeof(ncclConfig_t), NCCL_API_MAGIC, NCCL_VERSION_CODE,                            \
        NCCL_CONFIG_UNDEF_INT, /* blocking */     NCCL_CONFIG_UNDEF_INT, /* cgaClusterSize */ \
        NCCL_CONFIG_UNDEF_INT, /* minCTAs */      NCCL_CONFIG_UNDEF_INT, /* maxCTAs */      \
        NCCL_CONFIG_UNDEF_PTR, /* netName */      NCCL_CONFIG_UNDEF_INT, /* splitShare */   \
        NCCL_CONFIG_UNDEF_INT, /* trafficClass */ NCCL_CONFIG_UNDEF_PTR, /* commName */     \
        NCCL_CONFIG_UNDEF_INT, /* collnetEnable */ NCCL_CONFIG_UNDEF_INT, /* CTAPolicy */   \
        NCCL_CONFIG_UNDEF_INT, /* shrinkShare */  NCCL_CONFIG_UNDEF_INT, /* nvlsCTAs */     \
        NCCL_CONFIG_UNDEF_INT, /* nChannelsPerNetPeer */                                    \
        NCCL_CONFIG_UNDEF_INT, /* nvlinkCentricSched */                                     \
        NCCL_CONFIG_UNDEF_INT, /* graphUsageMode */ NCCL_CONFIG_UNDEF_INT, /* numRmaCtx */  \
        NCCL_CONFIG_UNDEF_INT, /* maxP2pPeers */                                            \
        NCCL_CONFIG_UNDEF_INT, /* graphStreamOrdering */                                    \
        NCCL_CONFIG_UNDEF_INT, /* launchOrderImplicit */                                    \
        NCCL_CONFIG_UNDEF_INT, /* numRmaSig */    NCCL_CONFIG_UNDEF_INT, /* rmaEagerInit */ \
        NCCL_CONFIG_UNDEF_INT, /* hostCftMode */  NCCL_CONFIG_UNDEF_INT  /* nvlsHostMode */ \
    }
/* clang-format on */

/* One vendor option of a collective's configuration; options form a list. */
typedef struct ncclConfigExt {
    struct ncclConfigExt* next;
    struct {
        int vendorId;
        int optionId;
    } key;
    union {
        int i;
        const char* s;
        void* raw;
    } val;
} ncclConfigExt_t;

/* How one collective call is carried out. */
typedef struct ncclCollConfig_v23200 {
    size_t size;
    unsigned int magic;
    unsigned int version;
    ncclConfigExt_t* ext;
    int minCTAs;
    int maxCTAs;
    int nvlsCTAs;
    int cgaClusterSize;
    const char* algSelection;
    int forceAlgSelection;
    int CTAPolicy;
    uint64_t userProfilerTag;
    cudaEvent_t launchCompletionEvent;
} ncclCollConfig_t;

#define NCCL_COLLCONFIG_INITIALIZER \
    {sizeof(ncclCollConfig_t),      \
     NCCL_API_MAGIC,                \
     NCCL_VERSION_CODE,             \
     NULL,                          \
     NCCL_CONFIG_UNDEF_INT,         \
     NCCL_CONFIG_UNDEF_INT,         \
     NCCL_CONFIG_UNDEF_INT,         \
     NCCL_CONFIG_UNDEF_INT,         \
     NULL,                          \
     1 /* forceAlgSelection */,     \
     NCCL_CONFIG_UNDEF_INT,         \
     0,                             \
     NULL}

/* The answer of ncclGroupSimulateEnd: the estimated time in microseconds. */
typedef struct ncclSimInfo_v22200 {
    size_t size;
    unsigned int magic;
    unsigned int version;
    float estimatedTime;
} ncclSimInfo_t;

#define NCCL_SIM_INFO_INITIALIZER \
    {sizeof(ncclSimInfo_t), 0x74685283, NCCL_VERSION_CODE, NCCL_UNDEF_FLOAT}

/* What to wait for: opCnt signals with the number sigIdx from peer, in the context ctx. */
typedef struct {
    int opCnt;
    int peer;
    int sigIdx;
    int ctx;
} ncclWaitSignalDesc_t;

/* Encryption of TCP connections by a pre-shared key of at least 32 characters. */
typedef struct ncclEncryptionConfig_v23200 {
    size_t size;
    unsigned int magic;
    unsigned int version;
    int mode;
    const char* psk;
} ncclEncryptionConfig_t;

#define NCCL_ENCRYPTION_CONFIG_INITIALIZER \
    {sizeof(ncclEncryptionConfig_t), NCCL_API_MAGIC, NCCL_VERSION_CODE, 0, NULL}

/*
 * ---- Functions ----
 * Each has a twin with the prefix p: ncclX is a weak alias of pncclX, so that a profiler may define
 * ncclX itself and call pncclX.
 */
#define NCCL_FUNCTION(type, name, parameters) \
    type nccl##name parameters;               \
    type pnccl##name parameters

#define NCCL_NO_ARGUMENTS (void)

/* clang-format off */

/* Memory for buffers: zeroed pages, which ncclMemFree frees. Any other memory serves as well. */
NCCL_FUNCTION(ncclResult_t, MemAlloc, (void** ptr, size_t size));
NCCL_FUNCTION(ncclResult_t, MemFree, (void* ptr));

/* The version code, 23203. Needs no Java. */
NCCL_FUNCTION(ncclResult_t, GetVersion, (int* version));

/* Opens the meeting point of a new communicator; rank 0 gives the id to the others. */
NCCL_FUNCTION(ncclResult_t, GetUniqueId, (ncclUniqueId* uniqueId));

/* Makes a communicator of nranks ranks; each of them calls this with the same id. */
NCCL_FUNCTION(ncclResult_t, CommInitRankConfig,
    (ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank, ncclConfig_t* config));
NCCL_FUNCTION(ncclResult_t, CommInitRank,
    (ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank));
/* Makes all ranks of a communicator in this process. If devlist is NULL, it is 0 to ndev-1. */
NCCL_FUNCTION(ncclResult_t, CommInitAll, (ncclComm_t* comm, int ndev, const int* devlist));

/* Completes all queued operations. Afterwards only destroy, abort and queries are possible. */
NCCL_FUNCTION(ncclResult_t, CommFinalize, (ncclComm_t comm));
NCCL_FUNCTION(ncclResult_t, CommDestroy, (ncclComm_t comm));
/* Stops everything and frees the communicator, whatever the peers do. */
NCCL_FUNCTION(ncclResult_t, CommAbort, (ncclComm_t comm));
NCCL_FUNCTION(ncclResult_t, CommRevoke, (ncclComm_t comm, int revokeFlags));

/*
 * Makes a communicator of the ranks of each colour, ordered by key. A rank with NCCL_SPLIT_NOCOLOR
 * gets none.
 */
NCCL_FUNCTION(ncclResult_t, CommSplit,
    (ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config));
NCCL_FUNCTION(ncclResult_t, CommShrink,
    (ncclComm_t comm, int* excludeRanksList, int excludeRanksCount, ncclComm_t* newcomm,
     ncclConfig_t* config, int shrinkFlags));
NCCL_FUNCTION(ncclResult_t, CommGetUniqueId, (ncclComm_t comm, ncclUniqueId* uniqueId));
NCCL_FUNCTION(ncclResult_t, CommGrow,
    (ncclComm_t comm, int nRanks, const ncclUniqueId* uniqueId, int rank, ncclComm_t* newcomm,
     ncclConfig_t* config));
NCCL_FUNCTION(ncclResult_t, CommInitRankScalable,
    (ncclComm_t* newcomm, int nranks, int myrank, int nId, ncclUniqueId* commIds,
     ncclConfig_t* config));

/*
 * Neither of them starts Java. ncclGetLastError returns the last error of the calling thread or, if
 * the thread has none, the last failure or warning of the process. It ignores comm.
 */
NCCL_FUNCTION(const char*, GetErrorString, (ncclResult_t result));
NCCL_FUNCTION(const char*, GetLastError, (ncclComm_t comm));

/* The state of a communicator: ncclInProgress while a call that did not block is under way. */
NCCL_FUNCTION(ncclResult_t, CommGetAsyncError, (ncclComm_t comm, ncclResult_t* asyncError));
NCCL_FUNCTION(ncclResult_t, CommCount, (const ncclComm_t comm, int* count));
/* Writes -1 on host ranks. */
NCCL_FUNCTION(ncclResult_t, CommCuDevice, (const ncclComm_t comm, int* device));
NCCL_FUNCTION(ncclResult_t, CommUserRank, (const ncclComm_t comm, int* rank));

/* Registration of buffers with one communicator. */
NCCL_FUNCTION(ncclResult_t, CommRegister,
    (const ncclComm_t comm, void* buff, size_t size, void** handle));
NCCL_FUNCTION(ncclResult_t, CommDeregister, (const ncclComm_t comm, void* handle));
NCCL_FUNCTION(ncclResult_t, CommSuspend, (ncclComm_t comm, int flags));
NCCL_FUNCTION(ncclResult_t, CommResume, (ncclComm_t comm));
NCCL_FUNCTION(ncclResult_t, CommMemStats,
    (ncclComm_t comm, ncclCommMemStat_t stat, uint64_t* value));
NCCL_FUNCTION(ncclResult_t, CommWindowRegister,
    (ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win, int winFlags));
NCCL_FUNCTION(ncclResult_t, CommWindowDeregister, (ncclComm_t comm, ncclWindow_t win));
NCCL_FUNCTION(ncclResult_t, WinGetUserPtr,
    (ncclComm_t comm, ncclWindow_t win, void** outUserPtr));

/* Reduction operations of the user. */
NCCL_FUNCTION(ncclResult_t, RedOpCreatePreMulSum,
    (ncclRedOp_t* op, void* scalar, ncclDataType_t datatype, ncclScalarResidence_t residence,
     ncclComm_t comm));
NCCL_FUNCTION(ncclResult_t, RedOpDestroy, (ncclRedOp_t op, ncclComm_t comm));

/*
 * Collectives. In place means that sendbuff is recvbuff or, if one of them has a part for each
 * rank, that the smaller one is this rank's part of the larger one.
 */
NCCL_FUNCTION(ncclResult_t, Reduce,
    (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
     int root, ncclComm_t comm, cudaStream_t stream));
NCCL_FUNCTION(ncclResult_t, Bcast,
    (void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
     cudaStream_t stream));
NCCL_FUNCTION(ncclResult_t, Broadcast,
    (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
     ncclComm_t comm, cudaStream_t stream));
NCCL_FUNCTION(ncclResult_t, AllReduce,
    (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
     ncclComm_t comm, cudaStream_t stream));
NCCL_FUNCTION(ncclResult_t, ReduceScatter,
    (const void* sendbuff, void* recvbuff, size_t recvcount, ncclDataType_t datatype,
     ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream));
NCCL_FUNCTION(ncclResult_t, AllGather,
    (const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype,
     ncclComm_t comm, cudaStream_t stream));
NCCL_FUNCTION(ncclResult_t, AlltoAll,
    (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclComm_t comm,
     cudaStream_t stream));
NCCL_FUNCTION(ncclResult_t, Gather,
    (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
     ncclComm_t comm, cudaStream_t stream));
NCCL_FUNCTION(ncclResult_t, Scatter,
    (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
     ncclComm_t comm, cudaStream_t stream));

/* The same with a configuration of the call. These functions are not done yet. */
NCCL_FUNCTION(ncclResult_t, AllReduceConfig,
    (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
     ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config));
NCCL_FUNCTION(ncclResult_t, BroadcastConfig,
    (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
     ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config));
NCCL_FUNCTION(ncclResult_t, ReduceConfig,
    (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
     int root, ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config));
NCCL_FUNCTION(ncclResult_t, AllGatherConfig,
    (const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype,
     ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config));
NCCL_FUNCTION(ncclResult_t, ReduceScatterConfig,
    (const void* sendbuff, void* recvbuff, size_t recvcount, ncclDataType_t datatype,
     ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config));
NCCL_FUNCTION(ncclResult_t, AlltoAllConfig,
    (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclComm_t comm,
     cudaStream_t stream, const ncclCollConfig_t* config));
NCCL_FUNCTION(ncclResult_t, GatherConfig,
    (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
     ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config));
NCCL_FUNCTION(ncclResult_t, ScatterConfig,
    (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
     ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config));

/* Point to point. From one rank to another, sends and receives match in program order. */
NCCL_FUNCTION(ncclResult_t, Send,
    (const void* sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
     cudaStream_t stream));
NCCL_FUNCTION(ncclResult_t, Recv,
    (void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
     cudaStream_t stream));

/* One-sided. */
NCCL_FUNCTION(ncclResult_t, PutSignal,
    (const void* localbuff, size_t count, ncclDataType_t datatype, int peer, ncclWindow_t peerWin,
     size_t peerWinOffset, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm,
     cudaStream_t stream));
NCCL_FUNCTION(ncclResult_t, Signal,
    (int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm, cudaStream_t stream));
NCCL_FUNCTION(ncclResult_t, WaitSignal,
    (int nDesc, ncclWaitSignalDesc_t* signalDescs, ncclComm_t comm, cudaStream_t stream));

/* Calls between start and the outermost end begin together; groups may be nested. */
NCCL_FUNCTION(ncclResult_t, GroupStart, NCCL_NO_ARGUMENTS);
NCCL_FUNCTION(ncclResult_t, GroupEnd, NCCL_NO_ARGUMENTS);
NCCL_FUNCTION(ncclResult_t, GroupSimulateEnd, (ncclSimInfo_t* simInfo));

NCCL_FUNCTION(ncclResult_t, SetEncryption, (const ncclEncryptionConfig_t* config));

/* Parameters by name. */
NCCL_FUNCTION(ncclResult_t, ParamBind, (ncclParamHandle_t* out, const char* key));
NCCL_FUNCTION(ncclResult_t, ParamGetI8, (ncclParamHandle_t h, int8_t* out));
NCCL_FUNCTION(ncclResult_t, ParamGetI16, (ncclParamHandle_t h, int16_t* out));
NCCL_FUNCTION(ncclResult_t, ParamGetI32, (ncclParamHandle_t h, int32_t* out));
NCCL_FUNCTION(ncclResult_t, ParamGetI64, (ncclParamHandle_t h, int64_t* out));
NCCL_FUNCTION(ncclResult_t, ParamGetU8, (ncclParamHandle_t h, uint8_t* out));
NCCL_FUNCTION(ncclResult_t, ParamGetU16, (ncclParamHandle_t h, uint16_t* out));
NCCL_FUNCTION(ncclResult_t, ParamGetU32, (ncclParamHandle_t h, uint32_t* out));
NCCL_FUNCTION(ncclResult_t, ParamGetU64, (ncclParamHandle_t h, uint64_t* out));
NCCL_FUNCTION(ncclResult_t, ParamGetStr, (ncclParamHandle_t h, const char** out));
NCCL_FUNCTION(ncclResult_t, ParamGet, (ncclParamHandle_t h, void* out, int maxLen, int* len));
NCCL_FUNCTION(ncclResult_t, ParamGetParameter,
    (const char* key, const char** value, int* valueLen));
NCCL_FUNCTION(ncclResult_t, ParamGetAllParameterKeys, (const char*** table, int* tableLen));
NCCL_FUNCTION(void, ParamDumpAll, NCCL_NO_ARGUMENTS);

/* Deprecated. */
NCCL_FUNCTION(void, ResetDebugInit, NCCL_NO_ARGUMENTS);

/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
