/**
 * Host reductions: one contract, {@link org.jccl.reduce.Reductions#fold}, and three variants of it
 * with the same bits. Vector where the module is present and compiled, staged through heap tiles
 * until then, scalar for a few elements.
 */
@NullMarked
package org.jccl.reduce;

import org.jspecify.annotations.NullMarked;
