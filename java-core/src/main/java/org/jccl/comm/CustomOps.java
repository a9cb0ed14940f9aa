package org.jccl.comm;

import org.jccl.type.DataType;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.PreMulSum;
import org.jccl.type.RedOp;
import org.jspecify.annotations.Nullable;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** The reductions that were created on one communicator. Any thread may use them. */
public final class CustomOps {
    /** No number is given twice in a process, so that none stands for two operations. */
    private static final AtomicInteger NEXT = new AtomicInteger(RedOp.NUMBERS);

    /** Bound of those of a communicator that were not destroyed. */
    private static final int MOST = 1 << 16;

    private final Map<Integer, PreMulSum> byNumber = new ConcurrentHashMap<>();

    /**
     * Creates a sum whose inputs this rank multiplies by a factor first.
     *
     * @param factor as it lies in memory; empty if there is an address
     * @param address where it is read when operations begin, else 0
     * @throws NcclException INVALID_USAGE if there are too many
     */
    public PreMulSum preMulSum(DataType type, byte[] factor, long address) {
        if (byNumber.size() >= MOST) {
            throw ErrorKind.TOO_MANY_PENDING.says(
                    "there are %s reduction operations of one communicator that were not "
                            + "destroyed; destroy some",
                    MOST);
        }
        int number = NEXT.getAndIncrement();
        PreMulSum made =
                new PreMulSum(number, type, factor, address, () -> byNumber.remove(number));
        byNumber.put(number, made);
        return made;
    }

    /**
     * Destroys an operation; calls that were made with it go on.
     *
     * @throws NcclException INVALID_ARGUMENT if the communicator has none with this number
     */
    public void destroy(int number) {
        if (RedOp.isValid(number)) {
            throw ErrorKind.REDUCTION_UNKNOWN.says(
                    "ncclRedOpDestroy : %s is a predefined operation; destroy what "
                            + "ncclRedOpCreatePreMulSum wrote",
                    RedOp.of(number).ncclName());
        }
        if (byNumber.remove(number) == null) {
            throw unknown("ncclRedOpDestroy : ", number);
        }
    }

    /** The operation with this number; null if this communicator has none. */
    @Nullable PreMulSum find(int number) {
        return byNumber.get(number);
    }

    static NcclException unknown(String called, int number) {
        return number >= RedOp.NUMBERS && number < NEXT.get()
                ? ErrorKind.REDUCTION_ENDED.says(
                        "%sreduction operation %s was destroyed, or created on another "
                                + "communicator; create one on this communicator",
                        called, number)
                : ErrorKind.REDUCTION_UNKNOWN.says(
                        "%sinvalid reduction operation %s; use ncclSum, ncclProd, ncclMax, "
                                + "ncclMin or ncclAvg",
                        called, number);
    }
}
