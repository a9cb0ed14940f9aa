package org.jccl.launch;

import org.jccl.bootstrap.Rendezvous;
import org.jccl.param.Params;
import org.jccl.platform.HostAddress;
import org.jccl.platform.SocketAddress;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.UniqueId;

import java.util.HexFormat;
import java.util.concurrent.locks.ReentrantLock;

/**
 * How the ranks of a job share a unique id: rank 0 makes it, and a store of the launcher hands it
 * on. Without a store they meet at a known address.
 */
public final class IdExchange {
    private static final ReentrantLock LOCK = new ReentrantLock();

    /** How many ids this process has had; any thread, under the lock. */
    private static int exchanges;

    private IdExchange() {}

    /**
     * The same id on all ranks, another one with each call. A call that fails does not count: the
     * next one asks for the same id again, as the other ranks do or have done.
     *
     * @throws NcclException INVALID_USAGE if no variable says how; REMOTE_ERROR or TIMEOUT if the
     *     launcher, or rank 0, does not answer
     */
    public static UniqueId id(LaunchedRank launched) {
        if (launched.nRanks() == 1) {
            return Rendezvous.createId();
        }
        try {
            LOCK.lockInterruptibly();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw ErrorKind.INTERRUPTED.says(
                    "rank %s was interrupted while another thread of it asked for an id",
                    launched.rank());
        }
        try {
            UniqueId id = id(launched, exchanges);
            exchanges++;
            return id;
        } finally {
            LOCK.unlock();
        }
    }

    private static UniqueId id(LaunchedRank launched, int number) {
        String run = Params.STORE.text();
        if (run != null) {
            return RunStore.exchange(run, number, launched);
        }
        // Before NCCL_COMM_ID, as in Python: ranks that wait for the store must find it there.
        if ("True".equals(Params.TORCH_STORE.text())) {
            return TorchStore.exchange(master(), number, launched);
        }
        return Params.COMM_ID.text() == null ? Rendezvous.idAt(master()) : Rendezvous.createId();
    }

    /**
     * The id of a store's answer.
     *
     * @throws NcclException REMOTE_ERROR if it is none
     */
    static UniqueId fromHex(String hex, String store) {
        try {
            return new UniqueId(HexFormat.of().parseHex(hex));
        } catch (IllegalArgumentException | NcclException none) {
            throw ErrorKind.STORE_FAILED.says(
                    "the answer of the launcher's store at %s is no unique id; start all ranks by "
                            + "one launcher and one JCCL",
                    store);
        }
    }

    private static SocketAddress master() {
        String host = Params.MASTER_ADDR.text();
        String port = Params.MASTER_PORT.text();
        if (host == null || port == null) {
            throw ErrorKind.VARIABLE_MISSING.says(
                    "%s is not set, nor NCCL_COMM_ID, so the ranks cannot share an id; start the "
                            + "program by python -m jccl.run --no-python or torchrun --no-python, "
                            + "or set MASTER_ADDR to rank 0's machine and MASTER_PORT to a free "
                            + "port there",
                    host == null ? "MASTER_ADDR" : "MASTER_PORT");
        }
        String text = host.contains(":") ? "[" + host + "]:" + port : host + ":" + port;
        try {
            SocketAddress address = HostAddress.parse(text, Params.SOCKET_FAMILY.text());
            if (address.isOfOneMachine()) {
                return address;
            }
            throw ErrorKind.ADDRESS_INVALID.says("%s is the address of no single machine", address);
        } catch (NcclException refused) {
            throw ErrorKind.VARIABLE_UNFIT.says(
                    "MASTER_ADDR is '%s' and MASTER_PORT '%s': %s; set them to rank 0's machine "
                            + "and a port there",
                    host, port, refused.getMessage());
        }
    }
}
