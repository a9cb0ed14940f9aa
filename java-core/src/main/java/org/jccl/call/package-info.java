/** A call of an operation as a value: what its caller asks for. */
@NullMarked
package org.jccl.call;

import org.jspecify.annotations.NullMarked;
