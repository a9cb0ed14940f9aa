package org.jccl.type;

/**
 * A sum whose inputs each rank multiplies by a factor of its own first ({@code
 * ncclRedOpCreatePreMulSum}). Products are rounded to the element type before they are summed, and
 * wrap around for integers. It belongs to one communicator and to one element type; operations that
 * have been called with it go on when it is closed.
 *
 * @param number the value of {@code ncclRedOp_t}
 * @param type the type of the factor, and of the elements
 * @param factor its bytes as they lie in memory, to which nobody writes; none if there is an
 *     address
 * @param address where the factor is read each time that an operation begins, else 0
 * @param forget makes the number unknown
 */
@SuppressWarnings("ArrayRecordComponent")
public record PreMulSum(int number, DataType type, byte[] factor, long address, Runnable forget)
        implements Reduction, AutoCloseable {

    /** Destroys it ({@code ncclRedOpDestroy}); once more does nothing. */
    @Override
    public void close() {
        forget.run();
    }
}
