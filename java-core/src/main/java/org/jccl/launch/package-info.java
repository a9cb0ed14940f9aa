/**
 * What launchers tell the ranks that they start: their numbers, in variables, and a unique id,
 * through a store that the launcher keeps.
 */
@NullMarked
package org.jccl.launch;

import org.jspecify.annotations.NullMarked;
