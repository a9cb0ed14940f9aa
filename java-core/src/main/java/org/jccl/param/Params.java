package org.jccl.param;

import static org.jccl.param.Param.atLeastOne;
import static org.jccl.param.Param.choice;
import static org.jccl.param.Param.flag;
import static org.jccl.param.Param.portRange;
import static org.jccl.param.Param.seconds;
import static org.jccl.param.Param.text;
import static org.jccl.param.Param.word;

import org.jspecify.annotations.Nullable;

import java.util.List;

/**
 * The variables that the core reads. Not here, since they are read before Java runs or by Python:
 * JCCL_JAVA_HOME, JAVA_HOME, PATH, JCCL_JAR, JCCL_JVM_HEAP, JCCL_JVM_OPTIONS, JCCL_ERROR_DIR and
 * TMPDIR by the C library.
 */
public final class Params {
    /** What is logged: NONE, VERSION, WARN, ATTN, INFO, ABORT or TRACE. */
    public static final Param<@Nullable String> DEBUG = text("NCCL_DEBUG", "NONE");

    /** Levels logged besides NCCL_DEBUG's, with commas; ^ first inverts the list. */
    public static final Param<@Nullable String> DEBUG_LEVELS = text("NCCL_DEBUG_LEVELS", "NONE");

    /** Subsystems whose INFO lines are logged, with commas; ^ first inverts. */
    public static final Param<@Nullable String> DEBUG_SUBSYS =
            text("NCCL_DEBUG_SUBSYS", "INIT,BOOTSTRAP,ENV");

    /** Where the log goes; %h is the host, %p the process number, %% a percent. */
    public static final Param<@Nullable String> DEBUG_FILE = text("NCCL_DEBUG_FILE", "stdout");

    /** Levels whose lines begin with date and time; ^ first inverts the list. */
    public static final Param<@Nullable String> DEBUG_TIMESTAMP_LEVELS =
            text("NCCL_DEBUG_TIMESTAMP_LEVELS", "WARN,ATTN");

    /** Interfaces for TCP: prefixes with commas; = first: exact; ^ first: excluded. */
    public static final Param<@Nullable String> SOCKET_IFNAME =
            text("NCCL_SOCKET_IFNAME", "ib*, then others, then docker*, then lo");

    /** AF_INET or AF_INET6: only addresses of this family are used. */
    public static final Param<@Nullable String> SOCKET_FAMILY = text("NCCL_SOCKET_FAMILY", "unset");

    /** Ports to listen on, as in 40000-40099; otherwise the system chooses. */
    public static final Param<int @Nullable []> PORT_RANGE = portRange("JCCL_PORT_RANGE");

    /** host:port at which rank 0 opens the root for all; ids then mean that root. */
    public static final Param<@Nullable String> COMM_ID = text("NCCL_COMM_ID", "unset");

    /** What the ranks prove at NCCL_COMM_ID, 16 bytes or more; never logged. */
    public static final Param<@Nullable String> SECRET = text("JCCL_SECRET", "unset");

    /** A file with mode 0600 that holds this secret instead. */
    public static final Param<@Nullable String> SECRET_FILE = text("JCCL_SECRET_FILE", "unset");

    /** Ranks with one text here count as one node. */
    public static final Param<@Nullable String> HOSTID =
            text("NCCL_HOSTID", "host name and boot id");

    /** 1: ranks of a node do not share memory. */
    public static final Param<Boolean> SHM_DISABLE = flag("NCCL_SHM_DISABLE", false);

    /**
     * 1: no rank reads another's buffer; ranks of one process share memory only by SHM_DISABLE 0.
     */
    public static final Param<Boolean> P2P_DISABLE = flag("NCCL_P2P_DISABLE", false);

    /** 0: ranks of a node do not read each other's buffers, but go by slots between them. */
    public static final Param<Boolean> P2P_READ_ENABLE = flag("NCCL_P2P_READ_ENABLE", true);

    /** What buffers belong to: host, or a kind of device, as in cuda or cuda:1. */
    public static final Param<@Nullable String> DEVICE = text("JCCL_DEVICE", "host");

    /**
     * How many blocks of threads an operation of a GPU has at most; the least of all ranks counts.
     */
    public static final Param<Integer> MAX_CTAS = atLeastOne("NCCL_MAX_CTAS", 64);

    /** 1: ranks of a process may share a GPU, although each may hold up the other. */
    public static final Param<Boolean> MULTI_RANK_GPU_ENABLE =
            flag("NCCL_MULTI_RANK_GPU_ENABLE", false);

    /** 1 or 0: calls of every communicator block or not, whatever its config says. */
    public static final Param<@Nullable Boolean> COMM_BLOCKING = choice("NCCL_COMM_BLOCKING");

    /** Seconds until an init or a connect has failed, 0 for never. */
    public static final Param<Long> INIT_TIMEOUT = seconds("JCCL_INIT_TIMEOUT", 120);

    /** Seconds until an operation has failed; 0 for never. */
    public static final Param<Long> TIMEOUT = seconds("JCCL_TIMEOUT", 0);

    /** Seconds until a WARN names the ranks an operation waits for; 0 for never. */
    public static final Param<Long> LATE_WARN = seconds("JCCL_LATE_WARN", 10);

    /** Seconds without any answer until another machine counts as lost; 0 for never. */
    public static final Param<Long> HOST_LOST = seconds("JCCL_HOST_LOST", 20);

    /**
     * node: all-reduces and reduce-scatters that are hierarchical (DIFFERENCES.md says which) fold
     * the ranks of each node, then the nodes; rank: all fold in rank order.
     */
    public static final Param<String> DETERMINISTIC =
            word("JCCL_DETERMINISTIC", List.of("node", "rank"));

    /** 1: reductions do not use the Vector API. */
    public static final Param<Boolean> NO_VECTOR = flag("JCCL_NO_VECTOR", false);

    /** Set by launchers: the number of this rank among all of the job. */
    public static final Param<@Nullable String> RANK = text("RANK", "unset");

    /** Set by launchers: how many ranks the job has. */
    public static final Param<@Nullable String> WORLD_SIZE = text("WORLD_SIZE", "unset");

    /** Set by launchers: the number of this rank among those of its machine. */
    public static final Param<@Nullable String> LOCAL_RANK = text("LOCAL_RANK", "0");

    /** Set by launchers: the machine of rank 0. */
    public static final Param<@Nullable String> MASTER_ADDR = text("MASTER_ADDR", "unset");

    /** Set by launchers: a port there. */
    public static final Param<@Nullable String> MASTER_PORT = text("MASTER_PORT", "unset");

    /** Set by python -m jccl.run: the socket at which the ranks share an id. */
    public static final Param<@Nullable String> STORE = text("JCCL_STORE", "unset");

    /** Set by torchrun: True if torchrun answers at MASTER_ADDR and MASTER_PORT itself. */
    public static final Param<@Nullable String> TORCH_STORE =
            text("TORCHELASTIC_USE_AGENT_STORE", "unset");

    /** Set by torchrun: how often it has started the ranks again. */
    public static final Param<@Nullable String> TORCH_RESTARTS =
            text("TORCHELASTIC_RESTART_COUNT", "0");

    private Params() {}
}
