/**
 * The test harness: a {@link org.jccl.harness.Cluster} runs a {@link org.jccl.harness.Scenario} on
 * n ranks, which are threads of this JVM, processes, or processes in two network namespaces.
 *
 * <pre>{@code
 * public final class SumOfRanks implements Scenario {
 *     public void run(Rank rank) {
 *         try (Communicator comm = rank.init()) { ... rank.say("sum is 6"); }
 *     }
 * }
 *
 * Outcome outcome = Cluster.processes(4).nodes(2).deadline(30).run(SumOfRanks.class);
 * outcome.assertAllSucceeded();
 * assertEquals(List.of("sum is 6"), outcome.rank(3).said());
 * }</pre>
 *
 * <p>A scenario is a public class with a public constructor without parameters, since a process
 * finds it by name. When the deadline passes, every rank's stacks are in the failure's message, and
 * no process is left: also not when the test's JVM is killed, because a rank ends when its standard
 * input does.
 */
@NullMarked
package org.jccl.harness;

import org.jspecify.annotations.NullMarked;
