/**
 * A simulated computer for the life cycle of communicators: processes, threads, clock, sockets,
 * futexes and process descriptors are simulated; the code that runs on it is what ships.
 *
 * <p>Everything runs on one thread of the test. Each simulated process has its own copy of JCCL's
 * classes; when these are loaded, their calls of the system (the one class SystemCall, the clock,
 * parking, monitors, starting a thread) are replaced by calls of {@link org.jccl.machine.Calls}. A
 * thread gives way only where it would wait; the seed decides who goes on, how long bytes travel,
 * and when faults happen. Time jumps to the next event. So a seed replays a schedule exactly.
 */
@NullMarked
package org.jccl.machine;

import org.jspecify.annotations.NullMarked;
