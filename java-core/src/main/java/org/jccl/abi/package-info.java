/**
 * The door: a static method for each function of nccl.h and jccl.h that is done and needs Java.
 * Arguments and results are primitives, and a failure is a result code.
 */
@NullMarked
package org.jccl.abi;

import org.jspecify.annotations.NullMarked;
