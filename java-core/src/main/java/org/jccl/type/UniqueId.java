package org.jccl.type;

import java.util.Arrays;

/** The 128 bytes of {@code ncclUniqueId}. They hold a secret: never log them. */
public final class UniqueId {
    /** {@code NCCL_UNIQUE_ID_BYTES}. */
    public static final int BYTES = 128;

    private final byte[] bytes;

    /**
     * An id with these bytes.
     *
     * @throws NcclException with INVALID_ARGUMENT if there are not exactly 128
     */
    public UniqueId(byte[] bytes) {
        if (bytes.length != BYTES) {
            throw ErrorKind.ID_SIZE.says("a unique id has %s bytes, not %s", BYTES, bytes.length);
        }
        this.bytes = bytes.clone();
    }

    /** A copy of the bytes. */
    public byte[] toBytes() {
        return bytes.clone();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof UniqueId id && Arrays.equals(bytes, id.bytes);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bytes);
    }

    /** Hides the content. */
    @Override
    public String toString() {
        return "UniqueId[hidden]";
    }
}
