/** Every variable that JCCL reads: name, default, sentence. */
@NullMarked
package org.jccl.param;

import org.jspecify.annotations.NullMarked;
