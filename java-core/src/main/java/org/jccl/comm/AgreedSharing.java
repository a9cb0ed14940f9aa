package org.jccl.comm;

import org.jccl.schedule.Nodes;

import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import java.util.function.IntFunction;

/**
 * Tells which ranks reach each other's memory: those that should by their own descriptions, except
 * for regions that could not be mapped. All ranks find the same.
 */
final class AgreedSharing implements Nodes.Sharing {
    private final RankInfo[] infos;
    private final BitSet[] unmapped;
    private final int[] kinds;

    /** Whether ranks that share memory can read the memory of each other's processes, too. */
    final boolean readable;

    /** Whether the devices of all ranks reach each other's memory. */
    final boolean onDevices;

    /**
     * Made from the words of all ranks.
     *
     * @param unmapped by rank, a bit for each rank whose region it could not map, one more if it
     *     cannot read the memory of some mate's process, and one if its device does not reach the
     *     memory of all others
     */
    AgreedSharing(RankInfo[] infos, IntFunction<byte[]> unmapped) {
        int n = infos.length;
        this.infos = infos;
        this.unmapped = new BitSet[n];
        this.kinds = new int[n];
        BitSet odd = new BitSet();
        BitSet none = new BitSet();
        for (int q = 0; q < n; q++) {
            BitSet missed = BitSet.valueOf(unmapped.apply(q));
            odd.or(missed);
            missed.clear(n, n + 2);
            this.unmapped[q] = missed.isEmpty() ? none : missed;
            odd.set(q, odd.get(q) || !missed.isEmpty());
        }
        readable = !odd.get(n);
        onDevices = !odd.get(n + 1);
        Map<RankInfo, Integer> first = new HashMap<>();
        for (int q = 0; q < n; q++) {
            // Ranks of one process often share a description.
            boolean asBefore = q > 0 && infos[q].equals(infos[q - 1]) && !odd.get(q - 1);
            kinds[q] =
                    odd.get(q) ? q : asBefore ? kinds[q - 1] : first.merge(infos[q], q, Math::min);
        }
    }

    @Override
    public boolean between(int q, int r) {
        return infos[q].mayShare(infos[r]) && !unmapped[q].get(r) && !unmapped[r].get(q);
    }

    @Override
    public int kind(int q) {
        return kinds[q];
    }
}
