/** NVIDIA's GPUs as devices of JCCL; the only package that knows JCuda. */
@NullMarked
package org.jccl.cuda;

import org.jspecify.annotations.NullMarked;
