package org.jccl.suite;

import org.jccl.platform.Protection;
import org.jccl.platform.SharedMemory;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A buffer of its own pages that a test takes away from all code that still uses it. The test fills
 * it with a poison that must stay whole, or forbids it, so that even reading it ends the process.
 */
final class ProtectedBuffer implements AutoCloseable {
    private static final byte POISON = (byte) 0xA5;

    private final SharedMemory memory;
    private final MemorySegment segment;
    private boolean forbidden;

    @SuppressWarnings("restricted")
    ProtectedBuffer(long bytes) {
        memory = SharedMemory.anonymous(bytes);
        segment = MemorySegment.ofAddress(memory.address()).reinterpret(bytes);
    }

    MemorySegment segment() {
        return segment;
    }

    /** From now on nobody may write it; if it is forbidden, nobody may read it either. */
    void take(boolean forbid) {
        if (forbid) {
            forbidden = true;
            Protection.forbid(memory.address(), memory.sizeBytes());
        } else {
            segment.fill(POISON);
        }
    }

    /** Fails if somebody has written it since it was taken. */
    void check(String when) {
        if (!forbidden) {
            byte first = segment.get(ValueLayout.JAVA_BYTE, 0);
            long last = segment.byteSize() - 1;
            long written = segment.asSlice(1).mismatch(segment.asSlice(0, last));
            Sums.require(
                    first == POISON && written < 0,
                    "byte " + (written + 1) + " was written after " + when);
        }
    }

    @Override
    public void close() {
        memory.close();
    }
}
