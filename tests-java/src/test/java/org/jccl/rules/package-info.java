/** The house rules that a machine can check. */
@NullMarked
package org.jccl.rules;

import org.jspecify.annotations.NullMarked;
