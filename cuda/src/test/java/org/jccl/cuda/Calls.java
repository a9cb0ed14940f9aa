package org.jccl.cuda;

import org.jccl.call.Call;
import org.jccl.type.DataType;
import org.jccl.type.Operation;
import org.jccl.type.RedOp;

import java.util.Arrays;
import java.util.List;

/** Calls of collectives, on buffers that are only compared. */
final class Calls {
    private static final long IN = 1L << 40;
    private static final long OUT = 1L << 41;

    /** All operations but sends and receives. */
    static final List<Operation> COLLECTIVES =
            Arrays.stream(Operation.values()).filter(op -> !op.pointToPoint()).toList();

    private Calls() {}

    /** A call with parts of so many bytes, out of place. */
    static Call of(Operation op, long bytes, int root) {
        return new Call()
                .of(op)
                .buffers(IN, OUT)
                .elements(bytes, DataType.INT8.number())
                .reducedBy(RedOp.SUM.number())
                .with(root);
    }
}
