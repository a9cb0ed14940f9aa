package org.jccl.comm;

import org.jccl.device.Device;
import org.jccl.device.Devices;
import org.jccl.type.CallError;
import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.Operation;
import org.jccl.type.RedOp;

/** The rules of NCCL for counts, numbers and addresses of a call. */
public final class Buffers {
    private Buffers() {}

    /**
     * The type with this number.
     *
     * @throws NcclException INVALID_ARGUMENT if it is unknown or not supported on host ranks
     */
    public static DataType type(Operation op, int number) {
        if (!DataType.isValid(number)) {
            throw CallError.TYPE_UNKNOWN.says(
                    "nccl"
                            + op.ncclName()
                            + " : invalid type "
                            + number
                            + "; use a value of ncclDataType_t");
        }
        DataType type = DataType.of(number);
        if (!type.supported()) {
            throw CallError.TYPE_NOT_DONE.says(
                    "nccl"
                            + op.ncclName()
                            + " : "
                            + type.ncclName()
                            + " is not done yet in JCCL; see DIFFERENCES.md");
        }
        return type;
    }

    /**
     * Checks a reduction operation's number.
     *
     * @throws NcclException INVALID_ARGUMENT if it is none that JCCL offers
     */
    public static void checkRedOp(Operation op, int redOp) {
        if (!RedOp.isValid(redOp) || redOp == RedOp.PROD.number()) {
            throw CallError.REDUCTION_UNKNOWN.says(
                    "nccl"
                            + op.ncclName()
                            + " : invalid reduction operation "
                            + redOp
                            + "; ncclSum, ncclAvg, ncclMax and ncclMin are supported");
        }
    }

    /** Checks a root or peer. */
    public static void checkRank(Operation op, Comm comm, int rank) {
        if (rank < 0 || rank >= comm.nRanks()) {
            throw CallError.ROOT_OR_PEER.says(
                    "nccl"
                            + op.ncclName()
                            + " : invalid "
                            + (op.pointToPoint() ? "peer " : "root ")
                            + rank
                            + " (must lie in [0, "
                            + comm.nRanks()
                            + "))");
        }
    }

    /**
     * The bytes of a rank's part.
     *
     * @param count its elements
     * @throws NcclException INVALID_ARGUMENT if a long cannot hold the bytes of a whole buffer
     */
    public static long partBytes(Operation op, Comm comm, long count, DataType type) {
        long most = Long.MAX_VALUE / type.sizeBytes() / op.size(1, comm.nRanks());
        if (count < 0 || count > most) {
            throw CallError.COUNT_OVERFLOW.says(
                    "nccl"
                            + op.ncclName()
                            + " : count "
                            + Long.toUnsignedString(count)
                            + " overflows the size of a buffer; count elements, not bytes");
        }
        return count * type.sizeBytes();
    }

    /**
     * Checks that a buffer has an address and is of the right kind, unless it is empty.
     *
     * @throws NcclException INVALID_ARGUMENT if it is not
     */
    public static void checkBuffer(Operation op, Comm comm, String name, long address, long bytes) {
        if (bytes == 0) {
            return;
        }
        if (address == 0) {
            throw CallError.NULL_ARGUMENT.says(
                    "nccl"
                            + op.ncclName()
                            + " : "
                            + name
                            + " argument is NULL; pass a buffer, or a count of 0");
        }
        checkKind(op, comm, name, address, bytes);
    }

    /** Checks that a buffer is memory of the communicator's device, or of the host. */
    private static void checkKind(Operation op, Comm comm, String name, long address, long bytes) {
        Device device = comm.device();
        String is;
        if (device == null) {
            Device owner = Devices.owner(address);
            if (owner == null) {
                return;
            }
            is = " is memory of " + owner.name() + ", but the communicator is on the host";
        } else if (device.owns(address, bytes)) {
            return;
        } else {
            is = " is not, or not whole, memory of " + device.name();
        }
        throw CallError.BUFFER_KIND.says(
                "nccl"
                        + op.ncclName()
                        + " : "
                        + name
                        + " 0x"
                        + Long.toHexString(address)
                        + " of "
                        + bytes
                        + " bytes"
                        + is);
    }

    /**
     * Checks that a stream is one of the communicator's device, and 0 on the host.
     *
     * @throws NcclException INVALID_ARGUMENT if it is not
     */
    public static void checkStream(Operation op, Comm comm, long stream) {
        Device device = comm.device();
        if (device == null ? stream == 0 : device.isStream(stream)) {
            return;
        }
        String called = "nccl" + op.ncclName() + " : stream 0x" + Long.toHexString(stream);
        throw device == null
                ? CallError.STREAM_NOT_NULL.says(
                        called + " means nothing on host ranks; pass NULL (stream 0)")
                : CallError.STREAM_UNKNOWN.says(called + " is no stream of " + device.name());
    }

    /**
     * Whether the buffers are in place as NCCL defines it for the operation.
     *
     * @throws NcclException INVALID_ARGUMENT if they overlap in any other way; where only the root
     *     sends, {@code in} means nothing to the others
     */
    static boolean inPlace(
            Comm comm, Operation op, long in, long out, long count, DataType type, int root) {
        long bytes = count * type.sizeBytes();
        int rank = comm.rank();
        boolean inPlace = in - out == op.inPlaceDistance(bytes, rank);
        if (!inPlace
                && (Long.compareUnsigned(out - in, op.inSize(bytes, comm.nRanks())) < 0
                        || Long.compareUnsigned(in - out, op.outSize(bytes, comm.nRanks())) < 0)
                && op.sends(rank, root)
                && op.receives(rank, root)) {
            throw overlap(comm, op, out - in, rank * bytes);
        }
        return inPlace;
    }

    private static NcclException overlap(Comm comm, Operation op, long distance, long block) {
        String rule =
                op.in() == op.out()
                        ? "sendbuff is recvbuff"
                        : op.out() == Operation.Parts.EACH
                                ? "sendbuff is " + block + " bytes after recvbuff"
                                : "recvbuff is " + block + " bytes after sendbuff";
        return CallError.BUFFERS_OVERLAP.says(
                "nccl"
                        + op.ncclName()
                        + " : sendbuff and recvbuff overlap, with recvbuff "
                        + Math.abs(distance)
                        + (distance < 0 ? " bytes before" : " bytes after")
                        + " sendbuff; in place means on rank "
                        + comm.rank()
                        + " that "
                        + rule);
    }
}
