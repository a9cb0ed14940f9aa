/** What the records of schedules refuse. */
@NullMarked
package org.jccl.schedule;

import org.jspecify.annotations.NullMarked;
