/*
 * The host functions of NCCL 2.32.3's nccl_device.h. They prepare communication by kernels, which
 * host ranks do not have. All of these functions exist, but none works, and each says so: by a
 * result code with a sentence, or by a zero structure, -1 or nothing.
 */
#ifndef NCCL_DEVICE_H_
#define NCCL_DEVICE_H_

#include "nccl.h"
#ifndef __cplusplus
#include <stdbool.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ncclDevComm ncclDevComm_t;
typedef unsigned int ncclDevResourceHandle_t;
typedef unsigned int ncclGinSignal_t;
typedef unsigned int ncclGinCounter_t;
typedef unsigned int ncclCftLeId;

typedef enum {
    NCCL_GIN_TYPE_NONE = 0,
    NCCL_GIN_TYPE_PROXY = 2,
    NCCL_GIN_TYPE_GDAKI = 3,
    NCCL_GIN_TYPE_GPI = 4,
    NCCL_GIN_TYPE_EFA_GDA = 5,
    NCCL_GIN_MAX_TYPES = 6
} ncclGinType_t;

typedef enum {
    NCCL_GIN_CONNECTION_NONE = 0,
    NCCL_GIN_CONNECTION_FULL = 1,
    NCCL_GIN_CONNECTION_RAIL = 2,
    NCCL_GIN_CONNECTION_CUSTOM_STRIDE = 3
} ncclGinConnectionType_t;

typedef enum {
    NCCL_CFT_TEAM_FLAT = 0,
    NCCL_CFT_TEAM_HIER_MULTIMEM = 1,
    NCCL_CFT_TEAM_HIER_LSA = 2
} ncclCftTeamMode_t;

typedef enum { NCCL_CFT_NONE = 0, NCCL_CFT = 1, NCCL_CFT_MULTIMEM = 2 } ncclCftCap_t;

/* Some ranks of a communicator: nRanks of them, which lie stride apart. */
typedef struct ncclTeam {
    int nRanks;
    int rank;
    int stride;
} ncclTeam_t;

typedef struct ncclMultimemHandle {
    void* mcBasePtr;
} ncclMultimemHandle_t;

typedef struct ncclLsaBarrierHandle {
    ncclDevResourceHandle_t bufHandle;
    int nBarriers;
} ncclLsaBarrierHandle_t;

typedef struct ncclGinBarrierHandle {
    ncclGinSignal_t signal0;
    ncclDevResourceHandle_t unused;
} ncclGinBarrierHandle_t;

typedef struct ncclLLA2AHandle {
    ncclDevResourceHandle_t bufHandle;
    uint32_t nSlots;
} ncclLLA2AHandle_t;

typedef struct ncclGinOutboxHandle ncclGinOutboxHandle_t;
typedef struct ncclGinInboxA2AHandle ncclGinInboxA2AHandle_t;

typedef struct ncclDevResourceRequirements {
    struct ncclDevResourceRequirements* next;
    size_t bufferSize;
    size_t bufferAlign;
    ncclDevResourceHandle_t* outBufferHandle;
    int ginSignalCount;
    int ginCounterCount;
    ncclGinSignal_t* outGinSignalStart;
    ncclGinCounter_t* outGinCounterStart;
} ncclDevResourceRequirements_t;

typedef struct ncclTeamRequirements {
    struct ncclTeamRequirements* next;
    ncclTeam_t team;
    bool multimem;
    ncclMultimemHandle_t* outMultimemHandle;
} ncclTeamRequirements_t;

/* What a communicator offers to kernels. */
typedef struct ncclCommProperties {
    size_t size;
    unsigned int magic;
    unsigned int version;
    int rank;
    int nRanks;
    int cudaDev;
    int nvmlDev;
    bool deviceApiSupport;
    bool multimemSupport;
    ncclGinType_t ginType;
    int nLsaTeams;
    bool hostRmaSupport;
    ncclGinType_t railedGinType;
    uint64_t commHash;
    int ginMinStride;
    ncclGinConnectionType_t ginConnectionType;
    bool ginSupport[64];
    size_t devCommRuntimeVersionSize;
    bool cftSupport;
    bool cftMulticastSupport;
    bool cftCountedSupport;
} ncclCommProperties_t;

typedef struct ncclDevCommRequirements {
    size_t size;
    unsigned int magic;
    unsigned int version;
    ncclDevResourceRequirements_t* resourceRequirementsList;
    ncclTeamRequirements_t* teamRequirementsList;
    bool lsaMultimem;
    int barrierCount;
    int lsaBarrierCount;
    int railGinBarrierCount;
    int lsaLLA2ABlockCount;
    int lsaLLA2ASlotCount;
    bool ginForceEnable;
    int ginContextCount;
    int ginSignalCount;
    int ginCounterCount;
    ncclGinConnectionType_t ginConnectionType;
    bool ginExclusiveContexts;
    int ginQueueDepth;
    int ginTrafficClass;
    int worldGinBarrierCount;
    bool ginStrongSignalsRequired;
    bool ginVaSignalsRequired;
    int ginCustomStride;
    ncclGinType_t ginType;
    bool useRuntimeVersion;
    int cftCaps;
    int cftBarrierCount;
} ncclDevCommRequirements_t;

/* clang-format off */

NCCL_FUNCTION(ncclResult_t, CommQueryProperties, (ncclComm_t comm, ncclCommProperties_t* props));
NCCL_FUNCTION(ncclResult_t, DevCommCreate,
    (ncclComm_t comm, const ncclDevCommRequirements_t* reqs, ncclDevComm_t* outDevComm));
NCCL_FUNCTION(ncclResult_t, DevCommDestroy, (ncclComm_t comm, const ncclDevComm_t* devComm));

NCCL_FUNCTION(ncclResult_t, GetLsaMultimemDevicePointer,
    (ncclWindow_t window, size_t offset, void** outPtr));
NCCL_FUNCTION(ncclResult_t, GetMultimemDevicePointer,
    (ncclWindow_t window, size_t offset, ncclMultimemHandle_t multimem, void** outPtr));
NCCL_FUNCTION(ncclResult_t, GetLsaDevicePointer,
    (ncclWindow_t window, size_t offset, int lsaRank, void** outPtr));
NCCL_FUNCTION(ncclResult_t, GetPeerDevicePointer,
    (ncclWindow_t window, size_t offset, int peer, void** outPtr));
NCCL_FUNCTION(ncclResult_t, GetMultimemDeviceLeInfo,
    (ncclWindow_t window, size_t offset, ncclCftLeId* outLeId, size_t* outLeOffset));
NCCL_FUNCTION(ncclResult_t, GetCftDeviceLeInfo,
    (ncclWindow_t window, size_t offset, int peer, ncclTeam_t team, ncclCftLeId* outLeId,
     size_t* outLeOffset));
NCCL_FUNCTION(ncclResult_t, GetPeerDeviceLeInfo,
    (ncclWindow_t window, size_t offset, int peer, ncclCftLeId* outLeId, size_t* outLeOffset));

NCCL_FUNCTION(ncclTeam_t, TeamWorld, (ncclComm_t comm));
NCCL_FUNCTION(ncclTeam_t, TeamLsa, (ncclComm_t comm));
NCCL_FUNCTION(ncclTeam_t, TeamRail, (ncclComm_t comm));
NCCL_FUNCTION(ncclTeam_t, TeamCft, (ncclComm_t comm, ncclCftTeamMode_t mode));
NCCL_FUNCTION(ncclTeam_t, TeamCftMultimem, (ncclComm_t comm));
NCCL_FUNCTION(int, TeamRankToWorld, (ncclComm_t comm, ncclTeam_t team, int rank));
NCCL_FUNCTION(int, TeamRankToLsa, (ncclComm_t comm, ncclTeam_t team, int rank));

NCCL_FUNCTION(ncclResult_t, LsaBarrierCreateRequirement,
    (ncclTeam_t team, int nBarriers, ncclLsaBarrierHandle_t* outHandle,
     ncclDevResourceRequirements_t* outReq));
NCCL_FUNCTION(ncclResult_t, GinBarrierCreateRequirement,
    (ncclComm_t comm, ncclTeam_t team, int nBarriers, ncclGinBarrierHandle_t* outHandle,
     ncclDevResourceRequirements_t* outReq));
NCCL_FUNCTION(ncclResult_t, GinOutboxCreateRequirement,
    (int nBlocks, int sizeLog2, ncclGinOutboxHandle_t* outHandle,
     ncclDevResourceRequirements_t* outReq));
NCCL_FUNCTION(ncclResult_t, GinInboxA2ACreateRequirement,
    (ncclTeam_t peers, int nBlocks, int sizeLog2, ncclGinInboxA2AHandle_t* outHandle,
     ncclDevResourceRequirements_t* outReq));
NCCL_FUNCTION(int, LLA2ACalcSlots, (int maxElts, int maxEltSize));
NCCL_FUNCTION(ncclResult_t, LLA2ACreateRequirement,
    (int nBlocks, int nSlots, ncclLLA2AHandle_t* outHandle,
     ncclDevResourceRequirements_t* outReq));

/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
