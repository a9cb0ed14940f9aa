/** TCP: frames that fill the mirror of a rank's region on another node. */
@NullMarked
package org.jccl.transport.net;

import org.jspecify.annotations.NullMarked;
