/** The right results, computed in another way than by the code under test. */
@NullMarked
package org.jccl.oracle;

import org.jspecify.annotations.NullMarked;
