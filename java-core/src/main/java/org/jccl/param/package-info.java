/** The variables that the Java core reads: name, default, sentence. */
@NullMarked
package org.jccl.param;

import org.jspecify.annotations.NullMarked;
