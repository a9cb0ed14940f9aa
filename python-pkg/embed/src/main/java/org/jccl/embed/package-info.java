/**
 * Python programs as ranks inside one Java VM: each in a context of GraalPy, or in an interpreter
 * of Jep.
 */
@NullMarked
package org.jccl.embed;

import org.jspecify.annotations.NullMarked;
