/** The programs of simulated processes; each process loads them anew, beside its copy of JCCL. */
@NullMarked
package org.jccl.machine.program;

import org.jspecify.annotations.NullMarked;
