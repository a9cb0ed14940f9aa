package org.jccl.plan;

import java.util.Map;
import java.util.TreeMap;

/** A set of bytes of a buffer, as ranges. Adding one and asking for one take the time of a tree. */
final class Spans {
    /** By where a range begins, where it ends; ranges neither overlap nor touch. */
    private final TreeMap<Long, Long> ends = new TreeMap<>();

    /** Adds the bytes from {@code from} up to {@code to}, exclusive. */
    void add(long from, long to) {
        long begin = from;
        long end = to;
        Map.Entry<Long, Long> near = ends.floorEntry(end);
        while (near != null && near.getValue() >= begin) {
            begin = Math.min(begin, near.getKey());
            end = Math.max(end, near.getValue());
            ends.remove(near.getKey());
            near = ends.floorEntry(end);
        }
        ends.put(begin, end);
    }

    /** Whether any of these bytes is in the set. */
    boolean overlap(long from, long to) {
        Map.Entry<Long, Long> last = ends.lowerEntry(to);
        return last != null && last.getValue() > from;
    }
}
