package org.jccl.progress;

import org.jccl.executor.Blocked;
import org.jccl.executor.Engine;
import org.jccl.executor.Task;
import org.jccl.transport.Links;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.Sentence;
import org.jspecify.annotations.Nullable;

import java.util.stream.IntStream;

/** What a rank says of the others: who is late, gone or at fault, and in which operation. */
record Wording(Links links, Engine engine, String name) {
    private static final String REPORTED_BY = " (reported by rank ";
    private static final int MOST_NAMED = 16;

    /** The failure if rank {@code q} is gone, of which the task, if there is one, needs more. */
    NcclException loss(int q, @Nullable Task task) {
        String where = task == null ? "" : where(task);
        if (links.region(q).hasLeft()) {
            return ErrorKind.LEFT.says("rank %s has left %s%s", q, name, where);
        }
        String ended = links.peer(q).ended();
        return ErrorKind.LOST.says(
                "rank %s is lost: %s%s", q, ended == null ? "its process ended" : ended, where);
    }

    private String where(Task task) {
        return Sentence.of(
                " while rank %s waited for it in %s on %s; abort or destroy the communicator",
                links.rank(), task.text(), name);
    }

    /** The rank that rank {@code q} blames, so that the next one who hears of it names no other. */
    int culprit(int q, long status) {
        int named = (int) status - 1;
        return named >= 0 && named < links.nRanks() ? named : q;
    }

    /** Why rank {@code q} gave up, for those who hear of it. */
    NcclException reported(int q, long status) {
        int code = (int) (status >>> 32);
        String text = links.region(q).statusText();
        // Ranks that called different things are all at fault; else only the other rank is.
        boolean everybodys = code == NcclResult.INVALID_USAGE.code();
        NcclResult result = everybodys ? NcclResult.INVALID_USAGE : NcclResult.REMOTE_ERROR;
        if (culprit(q, status) != q) {
            return ErrorKind.REPORTED.says(
                    result, text.contains(REPORTED_BY) ? text : text + REPORTED_BY + q + ")");
        }
        // What failed on the other rank must not read as if it had failed here.
        boolean named = everybodys || text.startsWith("rank " + q + " ");
        return ErrorKind.REPORTED.says(result, named ? text : "rank " + q + " gave up: " + text);
    }

    /** Says which ranks have not come to an operation yet. */
    private String late(Blocked blocked, long waitedMs) {
        Task task = blocked.task();
        String waited =
                Sentence.of(
                        "rank %s has waited %s ms in %s on %s",
                        links.rank(), waitedMs, task.text(), name);
        if (!task.arrived()) {
            return waited + " for its own stream, which has not come to the operation";
        }
        int[] ranks = lateRanks(blocked);
        if (ranks.length == 0) {
            int awaited = blocked.rank();
            return waited
                    + (awaited < 0
                            ? " for no other rank: it is still copying"
                            : " for rank " + awaited + ", which has not done its part");
        }
        String late = waited + " for " + Sentence.ranks(ranks, MOST_NAMED);
        return late + (ranks.length == 1 ? ", which has" : ", which have") + " not come that far";
    }

    /** The failure of a task that has waited longer than it may. */
    NcclException overdue(Blocked blocked, long waitedMs, long limitMs) {
        return ErrorKind.LATE.says("%s; the time limit is %s ms", late(blocked, waitedMs), limitMs);
    }

    /** The warning about a task that has waited long, which is no failure. */
    NcclException slow(Blocked blocked, long waitedMs) {
        return ErrorKind.LATE.says(late(blocked, waitedMs));
    }

    private int[] lateRanks(Blocked blocked) {
        Task task = blocked.task();
        if (task.operation().pointToPoint()) {
            return new int[] {task.peer()};
        }
        return IntStream.range(0, links.nRanks())
                .filter(q -> q != links.rank() && !engine.hasComeTo(q, 0))
                .toArray();
    }
}
