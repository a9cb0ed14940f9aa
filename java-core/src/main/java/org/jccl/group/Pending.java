package org.jccl.group;

import org.jccl.type.NcclResult;

/** Something that a thread waits for, and may leave and come back to. */
public interface Pending {
    /**
     * Works and waits until it is over.
     *
     * @param untilNs System.nanoTime at which to return anyway, 0 for never
     * @return whether it is over
     */
    boolean await(long untilNs);

    /**
     * How it ended; called once, after {@link #await} returned true.
     *
     * @throws org.jccl.type.NcclException if it failed
     */
    NcclResult result();

    /** Keeps an object from the garbage collector until it is over, if nobody waits for it. */
    default void keep(Object object) {}

    /** Ends it as soon as possible because the user interrupted the waiting thread. */
    void interrupt();
}
