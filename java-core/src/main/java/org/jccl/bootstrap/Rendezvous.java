package org.jccl.bootstrap;

import org.jccl.platform.SocketAddress;
import org.jccl.type.NcclException;
import org.jccl.type.UniqueId;

import java.nio.ByteBuffer;

/** Makes unique ids: a rank that holds one can join the rendezvous at this process's root. */
public final class Rendezvous {
    /** So many ranks may meet. */
    public static final int MAX_RANKS = 1 << 16;

    private Rendezvous() {}

    /**
     * A new id, good for one communicator; starts this process's listener. Where NCCL_COMM_ID is
     * set, the id means the root there, which rank 0 opens.
     *
     * @throws NcclException with INVALID_USAGE or SYSTEM_ERROR if nothing can be listened on
     */
    public static UniqueId createId() {
        IdContent known = CommId.id();
        if (known != null) {
            // A user who has no secret learns here that it is missing.
            CommId.withSecret(known);
            return known.encode();
        }
        Listener listener = Listener.shared();
        IdContent id = IdContent.create(listener.address);
        listener.roots.create(id);
        return id.encode();
    }

    /**
     * An id that means the root at this address, as if NCCL_COMM_ID named it.
     *
     * @throws NcclException with INVALID_USAGE if the address needs a secret and there is none
     */
    public static UniqueId idAt(SocketAddress root) {
        IdContent known = CommId.open(root);
        CommId.withSecret(known);
        return known.encode();
    }

    /**
     * The id that counts: this one, unless NCCL_COMM_ID is set.
     *
     * @throws NcclException with INVALID_ARGUMENT if NCCL_COMM_ID names no address
     */
    public static UniqueId effective(UniqueId id) {
        IdContent known = CommId.id();
        return known == null ? id : known.encode();
    }

    /** A number that all holders of an id compute and that tells nothing of its secret. */
    public static long publicNumber(UniqueId id) {
        return ByteBuffer.wrap(Keys.derive(id.toBytes(), "name")).getLong();
    }

    /** Whether an id means a root at a known address, where one communicator follows another. */
    public static boolean isShared(UniqueId id) {
        return CommId.isOne(IdContent.decode(id));
    }

    /**
     * Uses up the id of a communicator of one rank, which needs no rendezvous.
     *
     * @throws NcclException with INVALID_ARGUMENT for an id that JCCL did not make, INVALID_USAGE
     *     for one that this process has made and another communicator has used
     */
    public static void useAlone(UniqueId id) {
        Root root = Listener.rootHere(IdContent.decode(id));
        if (root != null) {
            root.useAlone();
        }
    }
}
