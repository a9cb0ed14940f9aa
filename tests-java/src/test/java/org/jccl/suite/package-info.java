/**
 * What a Java user may rely on, tested through {@link org.jccl.Communicator} on every kind of
 * {@link org.jccl.harness.Cluster}: results, groups, the life cycle, failures.
 */
@NullMarked
package org.jccl.suite;

import org.jspecify.annotations.NullMarked;
