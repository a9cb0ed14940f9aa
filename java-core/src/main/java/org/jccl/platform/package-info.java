/** System calls and what differs between systems. The only package that leaves Java. */
@NullMarked
package org.jccl.platform;

import org.jspecify.annotations.NullMarked;
