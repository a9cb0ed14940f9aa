/** The door: one static method per function of nccl.h, primitives only, no exception leaves it. */
@NullMarked
package org.jccl.abi;

import org.jspecify.annotations.NullMarked;
