/* nccl.h has NCCL 2.32.3's numbers and layouts; it needs nothing but the C library. */
#include <jccl.h>
#include <nccl.h>
#include <nccl_device.h>
#include <stddef.h>

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type)
#define AT(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type "." #field)
#define IS(name, value) _Static_assert((name) == (value), #name)

SIZE(ncclUniqueId, 128);
IS(NCCL_VERSION_CODE, 23203);
IS(NCCL_VERSION(2, 32, 3), 23203);
IS(NCCL_VERSION(2, 8, 4), 2804);

SIZE(ncclConfig_t, 120);
AT(ncclConfig_t, size, 0);
AT(ncclConfig_t, magic, 8);
AT(ncclConfig_t, version, 12);
AT(ncclConfig_t, blocking, 16);
AT(ncclConfig_t, cgaClusterSize, 20);
AT(ncclConfig_t, minCTAs, 24);
AT(ncclConfig_t, maxCTAs, 28);
AT(ncclConfig_t, netName, 32);
AT(ncclConfig_t, splitShare, 40);
AT(ncclConfig_t, trafficClass, 44);
AT(ncclConfig_t, commName, 48);
AT(ncclConfig_t, collnetEnable, 56);
AT(ncclConfig_t, CTAPolicy, 60);
AT(ncclConfig_t, shrinkShare, 64);
AT(ncclConfig_t, nvlsCTAs, 68);
AT(ncclConfig_t, nChannelsPerNetPeer, 72);
AT(ncclConfig_t, nvlinkCentricSched, 76);
AT(ncclConfig_t, graphUsageMode, 80);
AT(ncclConfig_t, numRmaCtx, 84);
AT(ncclConfig_t, maxP2pPeers, 88);
AT(ncclConfig_t, graphStreamOrdering, 92);
AT(ncclConfig_t, launchOrderImplicit, 96);
AT(ncclConfig_t, numRmaSig, 100);
AT(ncclConfig_t, rmaEagerInit, 104);
AT(ncclConfig_t, hostCftMode, 108);
AT(ncclConfig_t, nvlsHostMode, 112);

SIZE(jcclConfig_t, 136);
AT(jcclConfig_t, jcclMagic, 120);
AT(jcclConfig_t, device, 128);

SIZE(ncclCollConfig_t, 72);
AT(ncclCollConfig_t, ext, 16);
AT(ncclCollConfig_t, minCTAs, 24);
AT(ncclCollConfig_t, maxCTAs, 28);
AT(ncclCollConfig_t, nvlsCTAs, 32);
AT(ncclCollConfig_t, cgaClusterSize, 36);
AT(ncclCollConfig_t, algSelection, 40);
AT(ncclCollConfig_t, forceAlgSelection, 48);
AT(ncclCollConfig_t, CTAPolicy, 52);
AT(ncclCollConfig_t, userProfilerTag, 56);
AT(ncclCollConfig_t, launchCompletionEvent, 64);

SIZE(ncclConfigExt_t, 24);
AT(ncclConfigExt_t, key, 8);
AT(ncclConfigExt_t, val, 16);
SIZE(ncclEncryptionConfig_t, 32);
AT(ncclEncryptionConfig_t, mode, 16);
AT(ncclEncryptionConfig_t, psk, 24);
SIZE(ncclSimInfo_t, 24);
AT(ncclSimInfo_t, estimatedTime, 16);
SIZE(ncclWaitSignalDesc_t, 16);
SIZE(ncclTeam_t, 12);

SIZE(ncclCommProperties_t, 152);
AT(ncclCommProperties_t, rank, 16);
AT(ncclCommProperties_t, ginType, 36);
AT(ncclCommProperties_t, railedGinType, 48);
AT(ncclCommProperties_t, commHash, 56);
AT(ncclCommProperties_t, ginMinStride, 64);
AT(ncclCommProperties_t, ginConnectionType, 68);
AT(ncclCommProperties_t, ginSupport, 72);
AT(ncclCommProperties_t, devCommRuntimeVersionSize, 136);
AT(ncclCommProperties_t, cftSupport, 144);
AT(ncclCommProperties_t, cftCountedSupport, 146);
SIZE(ncclDevCommRequirements_t, 120);
AT(ncclDevCommRequirements_t, ginCustomStride, 96);
AT(ncclDevCommRequirements_t, cftCaps, 108);
AT(ncclDevCommRequirements_t, cftBarrierCount, 112);

IS(ncclNumResults, 9);
IS(ncclTimeout, 8);
IS(ncclInProgress, 7);
IS(ncclRemoteError, 6);
IS(ncclBfloat16, 9);
IS(ncclFloat8e5m2, 11);
IS(ncclNumTypes, 12);
IS(ncclAvg, 4);
IS(ncclNumOps, 5);
IS(ncclMaxRedOp, 0x7fffffff);
IS(NCCL_GIN_TYPE_EFA_GDA, 5);

int main(void) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclCollConfig_t coll = NCCL_COLLCONFIG_INITIALIZER;
    ncclSimInfo_t sim = NCCL_SIM_INFO_INITIALIZER;
    ncclEncryptionConfig_t encryption = NCCL_ENCRYPTION_CONFIG_INITIALIZER;
    int good = config.size == 120 && config.magic == 0xcafebeef && config.version == 23203 &&
               config.blocking == INT_MIN && config.netName == NULL &&
               config.splitShare == INT_MIN && config.commName == NULL &&
               config.collnetEnable == INT_MIN && config.nvlsHostMode == INT_MIN &&
               coll.size == 72 && coll.forceAlgSelection == 1 && coll.CTAPolicy == INT_MIN &&
               sim.magic == 0x74685283 && sim.estimatedTime == -1.0f && encryption.size == 32 &&
               encryption.psk == NULL;
    return good ? 0 : 1;
}
