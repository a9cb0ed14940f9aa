/** Tests of the host reductions: one contract for the variants, the door, and the warm-up. */
@NullMarked
package org.jccl.reduce;

import org.jspecify.annotations.NullMarked;
