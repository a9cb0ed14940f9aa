package org.jccl.harness;

import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jspecify.annotations.Nullable;

import java.util.List;

/**
 * How one rank of a {@link Cluster} ended.
 *
 * @param rank its number
 * @param end how it ended
 * @param result the code of the NcclException that ended it, or null
 * @param text the message of the exception that ended it, or the process's last words
 * @param stack the stack of that exception, or the empty string
 * @param said what it told the test, in order
 */
public record RankResult(
        int rank,
        End end,
        @Nullable NcclResult result,
        String text,
        String stack,
        List<String> said) {
    /** Ways to end. */
    public enum End {
        /** The scenario returned. */
        SUCCEEDED,
        /** The scenario threw. */
        FAILED,
        /** The process ended while the scenario ran: killed, crashed, or halted. */
        DIED,
        /** The deadline passed first. */
        LATE
    }

    static RankResult of(int rank, @Nullable Throwable thrown, List<String> said) {
        if (thrown == null) {
            return new RankResult(rank, End.SUCCEEDED, null, "", "", said);
        }
        NcclResult result = thrown instanceof NcclException e ? e.result() : null;
        java.io.StringWriter stack = new java.io.StringWriter();
        thrown.printStackTrace(new java.io.PrintWriter(stack));
        return new RankResult(
                rank,
                End.FAILED,
                result,
                String.valueOf(thrown.getMessage()),
                stack.toString(),
                said);
    }

    /** Fails unless the rank ended with this result code and a message that has all of these. */
    public void assertFailed(NcclResult expected, String... parts) {
        if (end != End.FAILED || result != expected) {
            throw new AssertionError("expected " + expected + " but " + this);
        }
        for (String part : parts) {
            if (!text.contains(part)) {
                throw new AssertionError("expected \"" + part + "\" in the message of " + this);
            }
        }
    }

    @Override
    public String toString() {
        String code = result == null ? "" : " with " + result;
        String why = text.isEmpty() ? "" : ": " + text;
        return "rank " + rank + ' ' + end + code + why + (stack.isEmpty() ? "" : '\n' + stack);
    }
}
