/**
 * What the core asks of a processor with memory of its own, a GPU for example; the modules that
 * know one implement it and are found as services.
 */
@NullMarked
package org.jccl.device;

import org.jspecify.annotations.NullMarked;
