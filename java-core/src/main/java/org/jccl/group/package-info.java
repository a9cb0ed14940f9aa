/** ncclGroupStart and ncclGroupEnd: what a thread queues between them is launched together. */
@NullMarked
package org.jccl.group;

import org.jspecify.annotations.NullMarked;
