package org.jccl.bootstrap;

import org.jccl.platform.ProcessIdentity;
import org.jccl.type.Utf8;
import org.jccl.type.Version;
import org.jspecify.annotations.Nullable;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * How a rank introduces itself to a rendezvous. The layout never changes, so that ranks of
 * different versions can tell each other that they differ.
 *
 * @param wireVersion of everything that ranks exchange later
 * @param byteOrder 1 little-endian, 2 big-endian
 * @param inRootProcess whether the rank lives in the process that made the id
 * @param build the version of JCCL
 * @param who host and process, for sentences
 */
record MemberHello(
        int wireVersion,
        int byteOrder,
        int nRanks,
        int rank,
        boolean inRootProcess,
        String build,
        String who) {
    static final int WIRE_VERSION = 5;
    static final int BYTES = 180;
    private static final int BUILD_BYTES = 64;
    private static final int WHO_BYTES = 96;

    /** This process as a rank. */
    static MemberHello own(int nRanks, int rank, boolean inRootProcess) {
        ProcessIdentity self = ProcessIdentity.current();
        int order = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN ? 1 : 2;
        String who = self.hostName() + ":" + self.pid();
        return new MemberHello(
                WIRE_VERSION, order, nRanks, rank, inRootProcess, Version.text(), who);
    }

    byte[] encode() {
        ByteBuffer out = ByteBuffer.allocate(BYTES);
        out.putInt(wireVersion).putInt(byteOrder).putInt(nRanks).putInt(rank);
        out.putInt(inRootProcess ? 1 : 0);
        return out.put(text(build, BUILD_BYTES)).put(text(who, WHO_BYTES)).array();
    }

    static MemberHello decode(byte[] bytes) {
        ByteBuffer in = ByteBuffer.wrap(bytes);
        int wireVersion = in.getInt();
        int byteOrder = in.getInt();
        int nRanks = in.getInt();
        int rank = in.getInt();
        boolean inRootProcess = (in.getInt() & 1) != 0;
        String build = text(in, BUILD_BYTES);
        String who = text(in, WHO_BYTES);
        return new MemberHello(wireVersion, byteOrder, nRanks, rank, inRootProcess, build, who);
    }

    /** {@code "rank 3 (node7:4711)"}. */
    String name() {
        return "rank " + rank + " (" + who + ")";
    }

    /** Why this rank and another one cannot be in one communicator, or null if they can. */
    @Nullable String differenceTo(MemberHello other) {
        if (wireVersion != other.wireVersion) {
            return says(other, "speaks wire version", wireVersion, other.wireVersion)
                    + ": all ranks need the same JCCL";
        }
        if (!build.equals(other.build)) {
            return says(other, "runs JCCL", build, other.build)
                    + ": all ranks need the same version";
        }
        if (byteOrder != other.byteOrder) {
            return says(other, "has byte order", byteOrder, other.byteOrder)
                    + " (1 little-endian, 2 big-endian): ranks cannot mix them";
        }
        if (nRanks != other.nRanks) {
            return says(other, "says nranks is", nRanks, other.nRanks)
                    + ": all ranks must say the same";
        }
        return null;
    }

    private String says(MemberHello other, String verb, Object mine, Object theirs) {
        return name() + " " + verb + " " + mine + ", " + other.name() + " " + verb + " " + theirs;
    }

    private static byte[] text(String text, int bytes) {
        return Arrays.copyOf(Utf8.encode(text, bytes - 1), bytes);
    }

    private static String text(ByteBuffer in, int bytes) {
        byte[] field = new byte[bytes];
        in.get(field);
        int end = 0;
        while (end < bytes && field[end] != 0) {
            end++;
        }
        return Utf8.decode(Arrays.copyOf(field, end));
    }
}
