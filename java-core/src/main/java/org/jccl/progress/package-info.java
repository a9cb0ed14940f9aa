/**
 * Moves the operations of a communicator, waits for them and looks after its ranks. Other packages
 * see {@link org.jccl.progress.CommExecutor} and the ways to submit ({@link
 * org.jccl.progress.Submission}), to wait ({@link org.jccl.progress.Wait}), to leave work to a
 * thread ({@link org.jccl.progress.StreamAgent}) and to part ({@link org.jccl.progress.Parting}).
 */
@NullMarked
package org.jccl.progress;

import org.jspecify.annotations.NullMarked;
