package org.jccl.reduce;

/**
 * A float of 8 or 16 bits: how it is widened to float32, exactly, and how float32 is rounded to it,
 * to the nearest, or to the even one of two that are equally near.
 *
 * <p>An interface, since for a class the verifier would load all formats with the first kernel.
 */
interface NarrowFloat {
    /** The value of an element's bits, of which the lower 8 or 16 count. */
    float widen(int bits);

    /** The bits of the element; bits above them mean nothing. */
    int round(float value);

    /**
     * Widens an even number of elements, in an order that {@link #round(Tiles, long, int)} knows.
     */
    void widen(Tiles tiles, float[] to, long from, int m);

    /** Rounds {@link Tiles#sum}. */
    void round(Tiles tiles, long to, int m);
}
