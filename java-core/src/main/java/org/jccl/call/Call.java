package org.jccl.call;

import org.jccl.type.DataType;
import org.jccl.type.Operation;
import org.jccl.type.PreMulSum;
import org.jccl.type.RedOp;
import org.jspecify.annotations.Nullable;

import java.util.Objects;

/**
 * A call of an operation, as its caller asks for it. The code that receives it from outside fills
 * the object that its thread keeps ({@code Group.call}); it is checked once, and a {@code Task}
 * copies it.
 */
public class Call {
    /** Says nothing; nobody changes it. */
    private static final Call EMPTY = new Call();

    private int operation = Operation.ALL_REDUCE.number();
    private long input;
    private long output;
    private long count;
    private int dataType;
    private int redOp;

    /** What the input is multiplied by before it is summed; null for nothing. */
    private @Nullable PreMulSum factor;

    private int peer;

    /** A stream of the communicator's device; 0 for the default one, and on the host. */
    private long stream;

    /** What the operation does besides its plan; not null for operations that exchange. */
    private @Nullable Composed composed;

    /** Makes the object stand for a call of this operation and clears everything else. */
    public final Call of(Operation called) {
        return of(called.number());
    }

    /** The same for the operation with this number. */
    public final Call of(int called) {
        take(EMPTY);
        operation = called;
        return this;
    }

    /** Copies another call. */
    protected final void take(Call other) {
        operation = other.operation;
        input = other.input;
        output = other.output;
        count = other.count;
        dataType = other.dataType;
        redOp = other.redOp;
        factor = other.factor;
        peer = other.peer;
        stream = other.stream;
        composed = other.composed;
    }

    /** The addresses of sendbuff and recvbuff. */
    public final Call buffers(long in, long out) {
        input = in;
        output = out;
        return this;
    }

    /** The address of the buffer of a send or receive. */
    public final Call buffer(long address) {
        return operation() == Operation.SEND ? buffers(address, 0) : buffers(0, address);
    }

    /**
     * The elements of a part.
     *
     * @param type the number of their type
     */
    public final Call elements(long n, int type) {
        count = n;
        dataType = type;
        return this;
    }

    /** The number of the reduction. */
    public final Call reducedBy(int number) {
        redOp = number;
        return this;
    }

    /** Makes it a sum of inputs that each rank multiplies by its factor first. */
    public final Call premultipliedBy(PreMulSum op) {
        redOp = RedOp.SUM.number();
        factor = op;
        return this;
    }

    /** The root or peer. */
    public final Call with(int rootOrPeer) {
        peer = rootOrPeer;
        return this;
    }

    /** The stream in which the operation is to run. */
    public final Call inStream(long handle) {
        stream = handle;
        return this;
    }

    /** What the operation does besides. */
    public final Call composed(@Nullable Composed more) {
        composed = more;
        return this;
    }

    /** The number of the operation, as the caller gave it. */
    public final int operationNumber() {
        return operation;
    }

    /** The operation, once its number has been checked. */
    public final Operation operation() {
        return Objects.requireNonNull(Operation.of(operation));
    }

    /** The address of sendbuff. */
    public final long input() {
        return input;
    }

    /** The address of recvbuff. */
    public final long output() {
        return output;
    }

    /** The elements of a part. */
    public final long count() {
        return count;
    }

    /** The number of the elements' type, as the caller gave it. */
    public final int typeNumber() {
        return dataType;
    }

    /** The type of the elements, once its number has been checked. */
    public final DataType type() {
        return DataType.of(dataType);
    }

    /** The number of the reduction. */
    public final int redOp() {
        return redOp;
    }

    /** What the input is multiplied by before it is summed; null for nothing. */
    public final @Nullable PreMulSum factor() {
        return factor;
    }

    /** The root of a rooted operation, the peer of a send or receive. */
    public final int peer() {
        return peer;
    }

    /** The stream in which the operation is to run. */
    public final long stream() {
        return stream;
    }

    /** What the operation does besides. */
    public final @Nullable Composed composed() {
        return composed;
    }

    /** Whether it consists of sends and receives, which have the buffers. */
    public final boolean exchanges() {
        return composed != null && operation().exchanges() && input == 0 && output == 0;
    }

    /** The bytes of a part. */
    public final long partBytes() {
        return count * type().sizeBytes();
    }

    /** Whether so many bytes of the input and of the output, from where they begin, overlap. */
    public final boolean overlap(long inBytes, long outBytes) {
        return Long.compareUnsigned(output - input, inBytes) < 0
                || Long.compareUnsigned(input - output, outBytes) < 0;
    }
}
