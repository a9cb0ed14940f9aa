/**
 * Who moves the operations of a communicator, waits for them and looks after its ranks. Outside of
 * it {@link org.jccl.progress.CommExecutor} is seen, and how to submit ({@link
 * org.jccl.progress.Submission}), wait ({@link org.jccl.progress.Wait}), leave to a thread ({@link
 * org.jccl.progress.StreamAgent}) and part ({@link org.jccl.progress.Parting}).
 */
@NullMarked
package org.jccl.progress;

import org.jspecify.annotations.NullMarked;
