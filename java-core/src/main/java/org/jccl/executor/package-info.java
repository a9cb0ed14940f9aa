/**
 * Runs plans on the host: one resumable interpreter for the collectives of a communicator, one for
 * each lane of sends or receives, and one owner of them all.
 */
@NullMarked
package org.jccl.executor;

import org.jspecify.annotations.NullMarked;
