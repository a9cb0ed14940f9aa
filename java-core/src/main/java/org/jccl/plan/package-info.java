/** From a call's shape to a plan: tuner, schedule, compilation, cache. */
@NullMarked
package org.jccl.plan;

import org.jspecify.annotations.NullMarked;
