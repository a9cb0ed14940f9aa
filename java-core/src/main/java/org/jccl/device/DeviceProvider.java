package org.jccl.device;

/** Knows the devices of one kind; found by {@link java.util.ServiceLoader}. */
public interface DeviceProvider {
    /** The kind in {@code JCCL_DEVICE}, as in {@code cuda}: lower-case letters. */
    String kind();

    /**
     * A device; the same object for the same number.
     *
     * @param ordinal its number, or -1 for the one that the calling thread uses
     * @throws org.jccl.type.NcclException if there is none with this number, or it cannot be used
     */
    Device open(int ordinal);
}
