/**
 * What a collective algorithm says and an executor does: a {@link org.jccl.schedule.Schedule} is a
 * list of {@link org.jccl.schedule.Step}s of one rank for one {@link org.jccl.schedule.Shape} of
 * call. Data only; all offsets and lengths are bytes.
 *
 * <p>The memory it speaks of: every rank owns a region that all others can read (a node mate maps
 * it, a rank on another node keeps a mirror that arriving frames fill). Only its owner writes a
 * region, by {@link org.jccl.schedule.Step.Put}; a reader may read exactly the ranges that were put
 * for it, after a {@link org.jccl.schedule.Step.Wait} for a {@link org.jccl.schedule.Step.Signal}
 * that followed the put. A schedule may follow {@link org.jccl.schedule.Nodes}, and is right
 * whatever lies between two ranks.
 *
 * <p>A message from one rank to another is two schedules, too: those of a pair, each a {@link
 * org.jccl.schedule.Step.Loop}, which does for messages of all sizes.
 */
@NullMarked
package org.jccl.schedule;

import org.jspecify.annotations.NullMarked;
