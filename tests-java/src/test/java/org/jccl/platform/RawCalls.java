package org.jccl.platform;

import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.Map;

/** The system calls of the real machine, for the simulated one. */
public final class RawCalls {
    /** Where the caller's word stands in a struct epoll_event. */
    public static final int EPOLL_DATA = Epoll.DATA;

    private RawCalls() {}

    /** The result, or -errno. */
    public static long call(long number, long a, long b, long c, long d, long e, long f) {
        return SystemCall.call(number, a, b, c, d, e, f);
    }

    /** By their numbers, the names of the calls that the product makes. */
    public static Map<Long, String> names() {
        Map<Long, String> names = new HashMap<>();
        try {
            for (Field field : SystemCall.class.getDeclaredFields()) {
                if (field.getType() == long.class) {
                    names.put((long) field.get(null), field.getName());
                }
            }
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
        return names;
    }
}
