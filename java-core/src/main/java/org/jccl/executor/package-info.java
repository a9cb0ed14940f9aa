/** Runs plans and send/recv on the host: one resumable interpreter, one owner per communicator. */
@NullMarked
package org.jccl.executor;

import org.jspecify.annotations.NullMarked;
