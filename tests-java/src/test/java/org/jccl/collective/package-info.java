/** Properties of algorithms that need no simulation. */
@NullMarked
package org.jccl.collective;

import org.jspecify.annotations.NullMarked;
