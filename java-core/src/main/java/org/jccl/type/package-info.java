/** Vocabulary of NCCL: numbers, names and errors. Depends on nothing. */
@NullMarked
package org.jccl.type;

import org.jspecify.annotations.NullMarked;
