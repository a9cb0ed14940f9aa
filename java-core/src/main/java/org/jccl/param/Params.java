package org.jccl.param;

import org.jccl.param.Param.Choice;
import org.jccl.param.Param.Flag;
import org.jccl.param.Param.PortRange;
import org.jccl.param.Param.Seconds;
import org.jccl.param.Param.Text;
import org.jccl.param.Param.Word;

import java.util.List;

/**
 * The variables that the core reads. Not here, since they are read before Java runs or by Python:
 * JCCL_JAVA_HOME, JAVA_HOME, PATH, JCCL_JAR, JCCL_JVM_HEAP, JCCL_JVM_OPTIONS, JCCL_ERROR_DIR and
 * TMPDIR by the C library; JCCL_STORE, RANK and WORLD_SIZE by the Python package.
 */
public final class Params {
    /** What is logged: NONE, VERSION, WARN, ATTN, INFO, ABORT or TRACE. */
    public static final Text DEBUG = new Text("NCCL_DEBUG", "NONE");

    /** Levels logged besides NCCL_DEBUG's, with commas; ^ first inverts the list. */
    public static final Text DEBUG_LEVELS = new Text("NCCL_DEBUG_LEVELS", "NONE");

    /** Subsystems whose INFO lines are logged, with commas; ^ first inverts. */
    public static final Text DEBUG_SUBSYS = new Text("NCCL_DEBUG_SUBSYS", "INIT,BOOTSTRAP,ENV");

    /** Where the log goes; %h is the host, %p the process number, %% a percent. */
    public static final Text DEBUG_FILE = new Text("NCCL_DEBUG_FILE", "stdout");

    /** Levels whose lines begin with date and time; ^ first inverts the list. */
    public static final Text DEBUG_TIMESTAMP_LEVELS =
            new Text("NCCL_DEBUG_TIMESTAMP_LEVELS", "WARN,ATTN");

    /** Interfaces for TCP: prefixes with commas; = first: exact; ^ first: excluded. */
    public static final Text SOCKET_IFNAME =
            new Text("NCCL_SOCKET_IFNAME", "ib*, then others, then docker*, then lo");

    /** AF_INET or AF_INET6: only addresses of this family are used. */
    public static final Text SOCKET_FAMILY = new Text("NCCL_SOCKET_FAMILY", "unset");

    /** Ports to listen on, as in 40000-40099; otherwise the system chooses. */
    public static final PortRange PORT_RANGE = new PortRange("JCCL_PORT_RANGE");

    /** host:port at which rank 0 opens the root for all; ids then mean that root. */
    public static final Text COMM_ID = new Text("NCCL_COMM_ID", "unset");

    /** What the ranks prove at NCCL_COMM_ID, 16 bytes or more; never logged. */
    public static final Text SECRET = new Text("JCCL_SECRET", "unset");

    /** A file with mode 0600 that holds this secret instead. */
    public static final Text SECRET_FILE = new Text("JCCL_SECRET_FILE", "unset");

    /** Ranks with one text here count as one node. */
    public static final Text HOSTID = new Text("NCCL_HOSTID", "host name and boot id");

    /** 1: ranks of a node do not share memory. */
    public static final Flag SHM_DISABLE = new Flag("NCCL_SHM_DISABLE", false);

    /**
     * 1: no rank reads another's buffer; ranks of one process share memory only by SHM_DISABLE 0.
     */
    public static final Flag P2P_DISABLE = new Flag("NCCL_P2P_DISABLE", false);

    /** 0: ranks of a node do not read each other's buffers, but go by slots between them. */
    public static final Flag P2P_READ_ENABLE = new Flag("NCCL_P2P_READ_ENABLE", true);

    /** What buffers belong to: host, or a kind of device, as in cuda or cuda:1. */
    public static final Text DEVICE = new Text("JCCL_DEVICE", "host");

    /** 1 or 0: calls of every communicator block or not, whatever its config says. */
    public static final Choice COMM_BLOCKING = new Choice("NCCL_COMM_BLOCKING");

    /** Seconds until an init or a connect has failed, 0 for never. */
    public static final Seconds INIT_TIMEOUT = new Seconds("JCCL_INIT_TIMEOUT", 120);

    /** Seconds until an operation has failed; 0 for never. */
    public static final Seconds TIMEOUT = new Seconds("JCCL_TIMEOUT", 0);

    /** Seconds until a WARN names the ranks an operation waits for; 0 for never. */
    public static final Seconds LATE_WARN = new Seconds("JCCL_LATE_WARN", 10);

    /** Seconds without any answer until another machine counts as lost; 0 for never. */
    public static final Seconds HOST_LOST = new Seconds("JCCL_HOST_LOST", 20);

    /**
     * node: large reductions across nodes fold the ranks of each node, then the nodes; rank: all
     * fold in rank order.
     */
    public static final Word DETERMINISTIC =
            new Word("JCCL_DETERMINISTIC", List.of("node", "rank"));

    /** 1: reductions do not use the Vector API. */
    public static final Flag NO_VECTOR = new Flag("JCCL_NO_VECTOR", false);

    private Params() {}
}
