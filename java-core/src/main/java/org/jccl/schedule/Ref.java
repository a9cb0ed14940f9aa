package org.jccl.schedule;

/**
 * A place in memory.
 *
 * @param space the buffer or area
 * @param rank whose buffer or area
 * @param offset bytes from the start of the buffer or area
 */
public record Ref(Space space, int rank, long offset) {
    /** This place and {@code bytes} further. */
    public Ref plus(long bytes) {
        return new Ref(space, rank, offset + bytes);
    }

    @Override
    public String toString() {
        return space + "[" + rank + "]+" + offset;
    }
}
