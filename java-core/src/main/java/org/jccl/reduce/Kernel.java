package org.jccl.reduce;

/**
 * Folds elements of one type by one operation. All kernels of a type and operation give the same
 * bits, except that a NaN may carry another payload.
 */
abstract class Kernel {
    /**
     * As {@link Reductions#fold}, for the elements from {@code first} to {@code count}, exclusive.
     *
     * @param n number of sources, at least 2, or 1 where the kernel is a staged one
     * @param divisor what AVG divides by; other operations ignore it
     */
    abstract void fold(long dst, long[] sources, int n, int divisor, long first, long count);
}
