/** What results must be, computed in another way than by the code under test. */
@NullMarked
package org.jccl.oracle;

import org.jspecify.annotations.NullMarked;
