package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;

/** What is reduced in a call, in chunks; of each chunk, every rank owns a piece or nothing. */
interface Pieces {
    /** What is cut into the chunks: everything, or each part. */
    Slices cut();

    /** Number of chunks. */
    default int count() {
        return cut().parts();
    }

    /** Where in an input a rank's piece of a chunk begins. */
    long at(int chunk, int owner);

    /** Bytes of a rank's piece of a chunk; 0 if it owns nothing of it. */
    long length(int chunk, int owner);

    /** Where rank {@code owner}'s piece of a chunk lies in the slot of rank {@code writer}. */
    Ref staged(int writer, int chunk, int owner);

    /** Makes what the own rank contributes to a rank's piece of a chunk readable by one rank. */
    default void put(ScheduleBuilder steps, int chunk, int owner, int reader) {
        Ref dst = staged(steps.rank(), chunk, owner);
        steps.put(steps.in(at(chunk, owner)), dst, length(chunk, owner), reader);
    }
}
