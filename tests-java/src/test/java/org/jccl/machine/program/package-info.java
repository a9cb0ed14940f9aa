/** What simulated processes run; loaded anew in each of them, beside its copy of JCCL. */
@NullMarked
package org.jccl.machine.program;

import org.jspecify.annotations.NullMarked;
