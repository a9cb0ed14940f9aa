package org.jccl.bootstrap;

import org.jccl.type.CallError;
import org.jccl.type.NcclException;
import org.jccl.type.UniqueId;

/** Makes unique ids: whoever holds one can join the rendezvous whose root this process runs. */
public final class Rendezvous {
    private Rendezvous() {}

    /**
     * A new id, good for one communicator; starts this process's listener.
     *
     * @throws NcclException with INVALID_USAGE or SYSTEM_ERROR if nothing can be listened on
     */
    public static UniqueId createId() {
        Listener listener = Listener.shared();
        IdContent id = IdContent.create(listener.ownAddress());
        listener.roots().create(id);
        return id.encode();
    }

    /**
     * Uses up the id of a communicator of one rank, which needs no rendezvous.
     *
     * @throws NcclException with INVALID_ARGUMENT for an id that JCCL did not make, INVALID_USAGE
     *     for one that this process has made and another communicator has used
     */
    public static void useAlone(UniqueId id) {
        if (!Listener.useAlone(IdContent.decode(id))) {
            throw CallError.ID_USED.says(Root.USED);
        }
    }

    /** The key that members of a rendezvous prove. */
    static byte[] key(IdContent id) {
        return Keys.derive(id.secret(), "rendezvous", id.number());
    }

    /**
     * A key that all holders of an id can compute and nobody else; a communicator's own keys are
     * made from it by {@link Keys#derive}.
     */
    public static byte[] communicatorKey(UniqueId id) {
        IdContent content = IdContent.decode(id);
        return Keys.derive(content.secret(), "communicator", content.number());
    }
}
