/** Tests of the module; those that need a GPU skip where there is none. */
@NullMarked
package org.jccl.cuda;

import org.jspecify.annotations.NullMarked;
