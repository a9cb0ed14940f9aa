package org.jccl.schedule;

import java.util.Arrays;
import java.util.List;

/**
 * One thing that a rank does. Steps run in their order; each is over before the next begins, but
 * other ranks see only what {@link Put} and {@link Signal} tell them. Lengths are 1 or more. Lists
 * of ranks are ascending and never hold the own rank; nobody changes them any more.
 */
public sealed interface Step {

    /**
     * Makes {@code length} bytes of {@code src} readable at {@code dst} by {@code readers}, and by
     * nobody else, the own rank included. One copy for all node mates, a frame to each reader
     * elsewhere; without a mate among the readers the own area need not be written at all. When the
     * step is over, {@code src} may be overwritten.
     *
     * @param src IN, OUT or a place in the own areas
     * @param dst a place in the own areas
     * @param readers at least one rank
     */
    @SuppressWarnings("ArrayRecordComponent") // made once, read by the plan's compiler
    record Put(Ref src, long length, Ref dst, int[] readers) implements Step {
        @Override
        public String toString() {
            return "Put " + dst + " <- " + src + " x" + length + " to " + Arrays.toString(readers);
        }
    }

    /**
     * Publishes flag {@code flag} = base + {@code delta}, after all earlier puts, to {@code
     * readers}. Per flag the deltas of a call grow strictly.
     *
     * @param delta 1 or more
     * @param readers at least one rank
     */
    @SuppressWarnings("ArrayRecordComponent") // made once, read by the plan's compiler
    record Signal(int flag, int delta, int[] readers) implements Step {
        @Override
        public String toString() {
            return "Signal " + flag + " = " + delta + " to " + Arrays.toString(readers);
        }
    }

    /** Waits until {@code rank}'s flag {@code flag} is at least base + {@code delta}. */
    record Wait(int rank, int flag, int delta) implements Step {}

    /**
     * {@code dst} = source 0 (op) source 1 (op) ..., strictly in this order. AVG is folded as a
     * sum, which the last fold of an element divides by the number of ranks.
     *
     * @param dst OUT or a place in the own areas; may be exactly one of the sources
     * @param sources two or more: of another rank, a place in its areas; of the own rank, IN, OUT
     *     or a place in the own areas
     * @param length bytes, a multiple of the element size
     * @param last whether the result has everybody's contribution
     */
    record Fold(Ref dst, List<Ref> sources, long length, boolean last) implements Step {}

    /**
     * {@code dst} (OUT or own area) = {@code src} (anything; of a peer, an area after a wait, or IN
     * if it is readable and the peer neither writes there nor ends the call before it has been told
     * that this is over).
     */
    record Copy(Ref dst, Ref src, long length) implements Step {
        /** Whether it reads a buffer of another rank's caller. */
        public boolean pulls(int rank) {
            return src.rank() != rank && !src.space().isArea();
        }
    }

    /**
     * Publishes {@code length} bytes of {@code src} as the own tiny message of the call.
     *
     * @param length at most {@link Limits#tinyBytes}
     * @param readers at least one rank
     */
    @SuppressWarnings("ArrayRecordComponent") // made once, read by the plan's compiler
    record TinyPut(Ref src, long length, int[] readers) implements Step {
        @Override
        public String toString() {
            return "TinyPut " + src + " x" + length + " to " + Arrays.toString(readers);
        }
    }

    /**
     * Waits for the tiny messages of all other ranks and folds them, in rank order, with the own
     * {@code src} (IN) into {@code dst} (OUT or own area).
     */
    record TinyFold(Ref dst, Ref src, long length) implements Step {}

    /**
     * Waits for the tiny message of {@code rank} and copies a part of it to {@code dst} (OUT or own
     * area).
     *
     * @param from where in the message the part begins
     * @param length bytes of the part
     * @param message bytes of the message
     */
    record TinyCopy(Ref dst, int rank, long from, long length, long message) implements Step {}

    /**
     * Runs the body for each chunk of the caller's buffer, and once if that is empty. In each round
     * IN and OUT begin with the chunk, {@link Space#FIFO} is the next slot in turn, and the base of
     * flags is greater by one. Lengths in the body are those of a whole chunk; the last round
     * shortens them all by what its chunk lacks. A round writes only where its own waits allow it,
     * whatever frames of earlier rounds have still to be sent.
     *
     * @param chunkBytes bytes of the buffer for each round
     */
    record Loop(long chunkBytes, List<Step> body) implements Step {}

    /** In a loop: writes what message this is to {@code dst} (own area): count, type and call. */
    record Header(Ref dst) implements Step {}

    /**
     * In a loop: the first round compares the header at {@code src} with what this rank expects;
     * the operation fails if they differ.
     */
    record Match(Ref src) implements Step {}
}
