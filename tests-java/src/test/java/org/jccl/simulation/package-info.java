/**
 * Runs the schedules of all ranks in one thread and proves them: {@link
 * org.jccl.simulation.Simulation}.
 *
 * <p>An element is a term: which rank's input it is, or which terms were folded in which order. A
 * rank may read only what was put for it in this call and what it has been told about: reads and
 * overwrites are compared with vector clocks that grow along exactly the signal that a wait names,
 * so that a race is found whether or not the interleaving at hand shows it. The executor's promises
 * between calls (parity slots, ring) are modelled as the contract of {@link org.jccl.schedule}
 * gives them, no stronger.
 */
@NullMarked
package org.jccl.simulation;

import org.jspecify.annotations.NullMarked;
