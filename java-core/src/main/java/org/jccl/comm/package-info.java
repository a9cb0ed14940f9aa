/** Communicators: their states, and the jobs that create, split and end them. */
@NullMarked
package org.jccl.comm;

import org.jspecify.annotations.NullMarked;
