/** A device for tests that needs no hardware. */
@NullMarked
package org.jccl.device;

import org.jspecify.annotations.NullMarked;
