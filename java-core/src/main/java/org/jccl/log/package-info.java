/** NCCL_DEBUG lines and the text of the last error. */
@NullMarked
package org.jccl.log;

import org.jspecify.annotations.NullMarked;
