package org.jccl.group;

import org.jccl.progress.CommExecutor;
import org.jccl.type.NcclException;

/** A communicator as the group sees it. */
public interface GroupMember {
    /** Whether calls on it return only when their work is done. */
    boolean blocking();

    /** The executor of its operations. */
    CommExecutor executor();

    /** The group failed before it was launched; a non-blocking communicator remembers that. */
    void groupFailed(NcclException why);
}
