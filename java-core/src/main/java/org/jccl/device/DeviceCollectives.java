package org.jccl.device;

import org.jccl.call.Call;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.util.List;

/**
 * Operations that the devices of a communicator's ranks run among themselves, in memory that they
 * reach of each other. The host starts them and looks at words that they write; it moves nothing.
 *
 * <p>A rank makes one before it knows whether all others can; {@link #connect} tells. Any thread
 * may call {@link #stop}.
 */
public interface DeviceCollectives {
    /** So many sends, or receives, of a group are sure to go on at once with one peer. */
    int AT_ONCE = 14;

    /** What the other ranks have to know about this rank's memory. */
    byte[] description();

    /**
     * Reaches the memory of another rank of this machine.
     *
     * @param q the other rank
     * @param here whether it is one of this process
     * @param description what {@link #description} is there
     * @throws org.jccl.type.NcclException if that is not possible, with the reason
     */
    void connect(int q, boolean here, byte[] description);

    /**
     * Whether this is a call for it. Depends only on what is the same on all ranks, once all are
     * connected.
     */
    boolean takes(Call call);

    /** Whether an operation may wait for other ranks, so that the host has to see how it goes. */
    default boolean awaitsRanks() {
        return true;
    }

    /** Whether the work that a stream is given now goes into a graph. */
    boolean isCaptured(long stream);

    /**
     * Gives the call's stream its collective, after all operations before it in the same stream.
     *
     * @param started a word of the host's memory that the device sets to {@code use} when it begins
     *     the operation, or sooner if that waits for no other rank; 0 for none
     * @param done a word that the device sets to {@code use} at the end of the operation; 0 for
     *     none
     * @return whether the stream is being captured; then the device never sets a word
     * @throws org.jccl.type.NcclException if the device refuses it, and has been given nothing that
     *     waits for another rank
     */
    boolean launch(Call call, long started, long done, long use);

    /**
     * Gives the stream of the first of them sends and receives that go on at once, after all
     * operations before them in the stream. Those of a peer and a direction are in their order;
     * when this begins, no other operation is under way with the same peer and direction. Where one
     * of these has more than {@link #AT_ONCE}, the later ones may begin when the earlier ones are
     * over. Collectives may be launched at the same time.
     *
     * @param group at least one; as many sends of the rank to itself as receives
     * @param started as for {@link #launch}, as are the others; 0 for none
     * @throws org.jccl.type.NcclException if the device refuses all of it; what it refuses later is
     *     a {@link #failure}
     */
    void exchange(List<? extends Call> group, long started, long done, long use);

    /** Why an operation that the device was given in part can never end; null if all is well. */
    default @Nullable NcclException failure() {
        return null;
    }

    /** Ends all operations that are under way, as soon as possible; results are undefined. */
    void stop();

    /** Frees everything; the ranks have not agreed to use it, so nobody writes to its memory. */
    void discard();

    /**
     * Frees everything. After {@link #stop}, memory that other ranks may still write to is kept.
     */
    void close();
}
