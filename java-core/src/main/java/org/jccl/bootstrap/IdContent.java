package org.jccl.bootstrap;

import org.jccl.platform.SocketAddress;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.UniqueId;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * The content of the 128 bytes of a unique id: magic (8), the root's address (24), the public
 * number of the rendezvous (16), its secret (32), and zeros.
 */
@SuppressWarnings("ArrayRecordComponent")
record IdContent(SocketAddress root, byte[] number, byte[] secret) {
    static final int NUMBER_BYTES = 16;
    private static final byte[] MAGIC = {'J', 'C', 'C', 'L', 'i', 'd', 0, 1};

    static IdContent create(SocketAddress root) {
        return new IdContent(root, Keys.random(NUMBER_BYTES), Keys.random(Keys.BYTES));
    }

    UniqueId encode() {
        ByteBuffer out = ByteBuffer.allocate(UniqueId.BYTES);
        out.put(MAGIC).put(root.toWire()).put(number).put(secret);
        return new UniqueId(out.array());
    }

    /**
     * Reads an id.
     *
     * @throws NcclException with INVALID_ARGUMENT if JCCL did not make it
     */
    static IdContent decode(UniqueId id) {
        ByteBuffer in = ByteBuffer.wrap(id.toBytes());
        byte[] magic = new byte[MAGIC.length];
        byte[] address = new byte[SocketAddress.WIRE_BYTES];
        byte[] number = new byte[NUMBER_BYTES];
        byte[] secret = new byte[Keys.BYTES];
        in.get(magic).get(address).get(number).get(secret);
        byte[] rest = RootMessage.rest(in);
        if (!Arrays.equals(magic, MAGIC) || !Arrays.equals(rest, new byte[rest.length])) {
            throw ErrorKind.ID_FOREIGN.says(
                    "this unique id was not made by this JCCL's ncclGetUniqueId: was it handed to"
                            + " all ranks whole, and do all load the same library?");
        }
        try {
            return new IdContent(SocketAddress.fromWire(address), number, secret);
        } catch (NcclException malformed) {
            throw ErrorKind.ID_DAMAGED.because(
                    malformed, "this unique id is damaged: its address cannot be read");
        }
    }

    /** The key that members of the rendezvous prove. */
    byte[] key() {
        return Keys.derive(secret, "rendezvous", number);
    }

    /**
     * A key that all holders of the id can compute and nobody else; a communicator's own keys are
     * made from it by {@link Keys#derive}.
     *
     * @param fresh the bytes that the members have sent each other for this communicator alone
     */
    byte[] communicatorKey(byte[] fresh) {
        return Keys.derive(secret, "communicator", number, fresh);
    }

    /** Hides the content. */
    @Override
    public String toString() {
        return "IdContent[hidden]";
    }
}
