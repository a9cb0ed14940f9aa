/**
 * Host reductions: one contract, {@link org.jccl.reduce.Reductions#fold}, and two sorts of kernels
 * with the same bits. Vector kernels where the module is present and they have been compiled;
 * staged ones, through tiles on the heap, until then, and one by one for a few elements.
 */
@NullMarked
package org.jccl.reduce;

import org.jspecify.annotations.NullMarked;
