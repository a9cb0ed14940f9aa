package org.jccl.log;

/** Those of NCCL's subsystems about which JCCL logs; the names of others choose nothing. */
public enum Subsystem {
    INIT,
    TUNING,
    ENV,
    BOOTSTRAP,
    DESTROY
}
