package org.jccl.type;

/**
 * A sum whose inputs each rank multiplies by a factor of its own first ({@code
 * ncclRedOpCreatePreMulSum}). Products are rounded to the element type before they are summed, and
 * wrap around for integers. It belongs to one communicator and to one element type; operations that
 * have been called with it go on when it is closed.
 */
public final class PreMulSum implements Reduction, AutoCloseable {
    private final int number;
    private final DataType type;
    private final byte[] factor;
    private final long address;
    private final Runnable forget;

    /**
     * An operation with a factor.
     *
     * @param number the value of {@code ncclRedOp_t}
     * @param factor its bytes as they lie in memory; none if there is an address
     * @param address where the factor is read each time that an operation begins, else 0
     * @param forget makes the number unknown
     */
    public PreMulSum(int number, DataType type, byte[] factor, long address, Runnable forget) {
        this.number = number;
        this.type = type;
        this.factor = factor;
        this.address = address;
        this.forget = forget;
    }

    @Override
    public int number() {
        return number;
    }

    /** The type of the factor, and of the elements. */
    public DataType type() {
        return type;
    }

    /** The factor as it lies in memory; nobody writes to it. */
    public byte[] factor() {
        return factor;
    }

    /** The address of the factor when an operation begins, 0 if {@link #factor} has it. */
    public long address() {
        return address;
    }

    /** Destroys it ({@code ncclRedOpDestroy}); once more does nothing. */
    @Override
    public void close() {
        forget.run();
    }
}
