package org.jccl.fuzz;

import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** Makes inputs from other inputs. */
final class Mutations {
    private static final long[] NUMBERS = {
        0,
        1,
        2,
        3,
        4,
        7,
        8,
        15,
        16,
        63,
        64,
        100,
        127,
        128,
        255,
        256,
        1023,
        4095,
        4096,
        32767,
        32768,
        65535,
        65536,
        65600,
        65601,
        1 << 18,
        (1 << 18) + 1,
        Integer.MAX_VALUE,
        Integer.MIN_VALUE,
        Long.MAX_VALUE,
        Long.MIN_VALUE
    };
    private static final int MOST_AT_ONCE = 4;
    private static final int LONGEST_GROWTH = 64;
    private static final int LONGEST = 8192;

    private final Random random;
    private final List<byte[]> pool;

    /** Inputs are taken from the pool, which may grow meanwhile. */
    Mutations(Random random, List<byte[]> pool) {
        this.random = random;
        this.pool = pool;
    }

    /** A new input. */
    byte[] next() {
        byte[] bytes = any().clone();
        for (int n = 1 + random.nextInt(MOST_AT_ONCE); n > 0; n--) {
            bytes = bytes.length == 0 ? grow(bytes) : mutate(bytes);
        }
        return bytes.length <= LONGEST ? bytes : Arrays.copyOf(bytes, LONGEST);
    }

    private byte[] any() {
        return pool.get(random.nextInt(pool.size()));
    }

    private byte[] mutate(byte[] bytes) {
        int at = random.nextInt(bytes.length);
        switch (random.nextInt(10)) {
            case 0 -> bytes[at] ^= (byte) (1 << random.nextInt(8));
            case 1 -> bytes[at] = (byte) random.nextInt();
            case 2 -> bytes[at] += (byte) (random.nextBoolean() ? 1 : -1);
            case 3, 4 -> number(bytes, at);
            case 5 -> {
                return Arrays.copyOf(bytes, at);
            }
            case 6 -> {
                return grow(bytes);
            }
            case 7 -> Arrays.fill(bytes, at, end(bytes, at), (byte) (random.nextInt(3) - 1));
            case 8 -> {
                int to = random.nextInt(bytes.length);
                int count = Math.min(end(bytes, at), end(bytes, to) - to + at) - at;
                System.arraycopy(bytes, at, bytes, to, Math.min(count, bytes.length - to));
            }
            default -> {
                return spliced(bytes, at);
            }
        }
        return bytes;
    }

    private int end(byte[] bytes, int from) {
        return from + 1 + random.nextInt(bytes.length - from);
    }

    /** Writes a number of some size, most often where a field may begin. */
    private void number(byte[] bytes, int anywhere) {
        int size = 1 << random.nextInt(4);
        int at = random.nextInt(4) == 0 ? anywhere : anywhere & -size;
        long value = NUMBERS[random.nextInt(NUMBERS.length)];
        value = random.nextInt(3) == 0 ? -value : value;
        boolean bigEndian = random.nextBoolean();
        for (int i = 0; i < size && at + i < bytes.length; i++) {
            int shift = 8 * (bigEndian ? size - 1 - i : i);
            bytes[at + i] = (byte) (value >> shift);
        }
    }

    private byte[] grow(byte[] bytes) {
        byte[] more = new byte[1 + random.nextInt(LONGEST_GROWTH)];
        if (random.nextBoolean()) {
            random.nextBytes(more);
        }
        byte[] longer = Arrays.copyOf(bytes, bytes.length + more.length);
        System.arraycopy(more, 0, longer, bytes.length, more.length);
        return longer;
    }

    /** The beginning of one and the end of another. */
    private byte[] spliced(byte[] bytes, int at) {
        byte[] other = any();
        if (other.length == 0) {
            return bytes;
        }
        int from = random.nextBoolean() ? Math.min(at, other.length) : random.nextInt(other.length);
        byte[] whole = Arrays.copyOf(bytes, at + other.length - from);
        System.arraycopy(other, from, whole, at, other.length - from);
        return whole;
    }
}
