package org.jccl.comm;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.jccl.bootstrap.Keys;
import org.jccl.bootstrap.Listener;
import org.jccl.device.Device;
import org.jccl.device.Devices;
import org.jccl.param.Params;
import org.jccl.platform.Cores;
import org.jccl.platform.CpuQuota;
import org.jccl.platform.ProcessIdentity;
import org.jccl.platform.SocketAddress;
import org.jccl.transport.RegionLayout;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclConfig;
import org.jccl.type.NcclException;
import org.jccl.type.Sentence;
import org.jccl.type.Utf8;
import org.jspecify.annotations.Nullable;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/**
 * A rank tells the others this about itself at init.
 *
 * @param hostId equal for ranks of one node
 * @param pid process id
 * @param startTime of the process, against reuse of the id
 * @param processNonce random, equal for ranks of one process
 * @param listener where its process accepts connections
 * @param cores that its process may use, at least one; not to be changed
 * @param quota how many cores its process and others of its container may use at a time
 * @param shm whether it shares memory with other processes
 * @param p2p whether it shares memory inside its process even if {@code shm} is off
 * @param ownDevice the device that no other rank of its process may have, as in cuda:0, or empty
 * @param settings those on which all ranks must agree, as name=value lines
 */
record RankInfo(
        String hostId,
        int pid,
        long startTime,
        long processNonce,
        SocketAddress listener,
        BitSet cores,
        int quota,
        boolean shm,
        boolean p2p,
        String ownDevice,
        String settings) {
    private static final int MAX_TEXT = 400;
    private static final long PROCESS_NONCE = new java.security.SecureRandom().nextLong();

    /** This process, for a communicator with this configuration. */
    static RankInfo own(NcclConfig config, @Nullable Device device) {
        ProcessIdentity self = ProcessIdentity.current();
        String given = config.hostId() == null ? Params.HOSTID.text() : config.hostId();
        return new RankInfo(
                given == null ? self.hostName() + "/" + self.bootId() : shortened(given),
                self.pid(),
                self.startTime(),
                PROCESS_NONCE,
                Listener.address(),
                Cores.usable(),
                CpuQuota.current(),
                !Params.SHM_DISABLE.get(),
                !Params.P2P_DISABLE.get(),
                device == null || !device.streamsShareQueues() || Params.MULTI_RANK_GPU_ENABLE.get()
                        ? ""
                        : device.name(),
                Sentence.of(
                        "layout=%s\nJCCL_DETERMINISTIC=%s\ndevice=%s",
                        RegionLayout.WIRE_VERSION,
                        Params.DETERMINISTIC.get(),
                        device == null ? Devices.HOST : device.kind()));
    }

    /** A host's name that fits into a message: a long one is known by its digest. */
    private static String shortened(String hostId) {
        return hostId.length() <= MAX_TEXT
                ? hostId
                : HexFormat.of().formatHex(Keys.derive(hostId.getBytes(UTF_8), "host"));
    }

    /** Whether all reductions fold in rank order. */
    boolean reducesInRankOrder() {
        return settings.contains("\nJCCL_DETERMINISTIC=rank");
    }

    boolean sameProcess(RankInfo other) {
        return pid == other.pid && processNonce == other.processNonce;
    }

    /** Whether two ranks should try to share memory. */
    boolean mayShare(RankInfo other) {
        return hostId.equals(other.hostId)
                && ((shm && other.shm) || (p2p && other.p2p && sameProcess(other)));
    }

    /** Whether ranks of one node have a core each. */
    static boolean haveCores(List<RankInfo> mates) {
        return mates.stream().allMatch(mate -> mates.size() <= mate.quota)
                && Cores.oneForEach(mates.stream().map(RankInfo::cores).toList());
    }

    /** The first setting in which the ranks differ, as a sentence, or null. */
    static @Nullable String difference(int a, RankInfo of, int b, RankInfo than) {
        if (of.settings.equals(than.settings)) {
            return null;
        }
        String[] left = of.settings.split("\n", -1);
        String[] right = than.settings.split("\n", -1);
        int at = Arrays.mismatch(left, right);
        String l = at < left.length ? left[at] : "nothing";
        String r = at < right.length ? right[at] : "nothing";
        return "rank " + a + " has " + shown(l) + ", rank " + b + " has " + shown(r);
    }

    /**
     * Looks for two ranks of one process that have one device, where each needs its own.
     *
     * @throws NcclException DEVICE_TWICE if there are any; all ranks find the same two
     */
    static void requireOwnDevices(RankInfo[] infos) {
        Map<List<Object>, Integer> users = new HashMap<>();
        for (int q = 0; q < infos.length; q++) {
            RankInfo info = infos[q];
            if (info.ownDevice.isEmpty()) {
                continue;
            }
            Integer user =
                    users.putIfAbsent(List.of(info.pid, info.processNonce, info.ownDevice), q);
            if (user != null) {
                throw ErrorKind.DEVICE_TWICE.says(
                        "ranks %s and %s, both of process %s, use %s, where an operation of one may"
                                + " wait behind the other's for ever; give each rank a device, or"
                                + " a process, or set NCCL_MULTI_RANK_GPU_ENABLE=1",
                        user, q, info.pid, Utf8.printable(info.ownDevice));
            }
        }
    }

    private static String shown(String setting) {
        return Utf8.printable(setting.substring(0, Math.min(setting.length(), MAX_TEXT)));
    }

    byte[] encode() {
        try {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            DataOutputStream out = new DataOutputStream(bytes);
            out.writeUTF(hostId);
            out.writeInt(pid);
            out.writeLong(startTime);
            out.writeLong(processNonce);
            out.write(listener.toWire());
            byte[] coreBits = cores.toByteArray();
            out.writeByte(coreBits.length);
            out.write(coreBits);
            out.writeInt(quota);
            out.writeBoolean(shm);
            out.writeBoolean(p2p);
            out.writeUTF(ownDevice);
            out.writeUTF(settings);
            return bytes.toByteArray();
        } catch (IOException e) {
            throw ErrorKind.IMPOSSIBLE.says("cannot encode a rank's description: %s", e);
        }
    }

    /**
     * Reads the description of a rank, from this place of its message on.
     *
     * @throws NcclException REMOTE_ERROR if no rank describes itself so
     */
    static RankInfo decode(int rank, byte[] bytes, int from) {
        try {
            DataInputStream in =
                    new DataInputStream(new ByteArrayInputStream(bytes, from, bytes.length - from));
            RankInfo info =
                    new RankInfo(
                            in.readUTF(),
                            in.readInt(),
                            in.readLong(),
                            in.readLong(),
                            SocketAddress.fromWire(in.readNBytes(SocketAddress.WIRE_BYTES)),
                            BitSet.valueOf(in.readNBytes(in.readUnsignedByte())),
                            in.readInt(),
                            in.readBoolean(),
                            in.readBoolean(),
                            in.readUTF(),
                            in.readUTF());
            if (info.pid > 0
                    && !info.cores.isEmpty()
                    && info.cores.length() <= Cores.MOST
                    && info.quota > 0
                    && in.available() == 0) {
                return info;
            }
        } catch (IOException | IllegalArgumentException | NcclException unreadable) {
            throw badly(rank, Utf8.printable(String.valueOf(unreadable)));
        }
        throw badly(rank, "a number is impossible, or there is more than it should say");
    }

    private static NcclException badly(int rank, String why) {
        return ErrorKind.NONSENSE.says("rank %s described itself badly: %s", rank, why);
    }
}
