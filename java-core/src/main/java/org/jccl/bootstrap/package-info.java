/**
 * How ranks find and prove each other: a rendezvous by unique id, an out-of-band all-gather over
 * it, and authenticated connections between ranks of different nodes.
 *
 * <p>The thread {@code jccl-net} owns the listening socket, every connection that has not proved
 * itself yet, and the roots of the rendezvous whose ids this process made. Everything else runs in
 * the caller's thread and never blocks except in {@code awaitActivity}.
 */
@NullMarked
package org.jccl.bootstrap;

import org.jspecify.annotations.NullMarked;
