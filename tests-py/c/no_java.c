/* What needs no Java works without one, and everything else says what to install. */
#include <jccl.h>

#include "client.h"

int main(void) {
    int version = 0;
    ncclUniqueId id;
    OK(ncclGetVersion(&version));
    REQUIRE(version == 23203);
    EXPECT(ncclInvalidArgument, ncclGetVersion(NULL));
    REQUIRE(strcmp(ncclGetErrorString(ncclSuccess), "no error") == 0);
    REQUIRE(strcmp(ncclGetErrorString(ncclRemoteError),
                   "remote process exited or there was a network error") == 0);
    REQUIRE(strcmp(ncclGetErrorString((ncclResult_t)77), "unknown result code") == 0);
    REQUIRE(strlen(jcclVersionString()) > 0);
    OK(jcclShutdown());
    EXPECT(ncclInvalidUsage, ncclCommRevoke(NULL, 0));
    REQUIRE(strstr(ncclGetLastError(NULL), "ncclCommRevoke is not done yet in JCCL") != NULL);
    REQUIRE(jcclRestoreSignals() == 0);
    REQUIRE(!jcclJavaStarted());
    if (getenv("JCCL_JAVA_HOME") != NULL) {
        for (int i = 0; i < 2; i++) {
            EXPECT(ncclSystemError, ncclGetUniqueId(&id));
            printf("%s\n", ncclGetLastError(NULL));
        }
        REQUIRE(jcclJavaHome() == NULL);
    }
    return 0;
}
