/**
 * Collective algorithms: one class for each, which serves one operation or several, a pure function
 * from the {@link org.jccl.schedule.Shape} of a call and a rank to that rank's {@link
 * org.jccl.schedule.Schedule}. {@link org.jccl.collective.Algorithms} says which there are and
 * which one a call gets.
 *
 * <p>Costs are given per rank for ranks that reach each other directly: &alpha; the time until a
 * peer sees a signal, &beta; the time to copy a byte, &gamma; the time to fold a byte of one
 * source, n the number of ranks, s the bytes of the message, m the number of chunks.
 */
@NullMarked
package org.jccl.collective;

import org.jspecify.annotations.NullMarked;
