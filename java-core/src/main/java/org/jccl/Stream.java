package org.jccl;

/**
 * A stream of a device. An operation in a stream runs after the stream's earlier work and before
 * its later work; the call returns at once.
 *
 * @param handle what the device's own library calls it, a {@code cudaStream_t} for example
 */
public record Stream(long handle) {
    /** The default stream of a device, and the only one of the host. */
    public static final Stream DEFAULT = new Stream(0);
}
