/**
 * The API for Java programs: {@link org.jccl.Communicator}, its {@link org.jccl.Config}, {@link
 * org.jccl.Group} and {@link org.jccl.Buffers}. Nothing inside JCCL depends on this package.
 *
 * <pre>{@code
 * UniqueId id = Communicator.uniqueId();            // on one rank; carry its bytes to the others
 * try (Communicator comm = Communicator.initRank(nRanks, id, rank);
 *         Arena arena = Arena.ofConfined()) {
 *     MemorySegment data = arena.allocateFrom(ValueLayout.JAVA_FLOAT, 1f, 2f, 3f);
 *     comm.allReduce(data, data, 3, DataType.FLOAT32, RedOp.SUM);
 * }
 * }</pre>
 */
@NullMarked
package org.jccl;

import org.jspecify.annotations.NullMarked;
