/**
 * How ranks reach each other: one region of memory per rank, mapped by its node mates and mirrored
 * over TCP for the others.
 */
@NullMarked
package org.jccl.transport;

import org.jspecify.annotations.NullMarked;
