package org.jccl.embed;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.List;

/** How the program of a rank has ended. */
public sealed interface RankEnd {
    /** The status of a process that a time limit has ended, as {@code timeout} gives it. */
    int LATE_STATUS = 124;

    /**
     * It came to its end.
     *
     * @param value what a function has returned: null, Boolean, Long, Double, String, or a List or
     *     Map of such; the text of any other object. Programs other than functions give null
     */
    record Returned(@Nullable Object value) implements RankEnd {}

    /** It called sys.exit. */
    record Exited(int status) implements RankEnd {}

    /** It raised an exception: its class, its message, and the traceback as Python prints it. */
    record Raised(String type, String message, String traceback) implements RankEnd {}

    /** It was not done when the time was over, and has been stopped. */
    record Late(Duration limit) implements RankEnd {}

    /** The status of a process that ends like this. */
    default int status() {
        return switch (this) {
            case Returned returned -> 0;
            case Exited(int status) -> status;
            case Raised raised -> 1;
            case Late late -> LATE_STATUS;
        };
    }

    /** A sentence about the rank that has ended like this. */
    default String of(int rank) {
        return switch (this) {
            case Returned returned -> "rank " + rank + " returned";
            case Exited(int status) -> "rank " + rank + " exited with status " + status;
            case Raised(String type, String message, String traceback) ->
                    "rank " + rank + " raised " + type + ": " + message;
            case Late(Duration limit) ->
                    "rank " + rank + " was not done after " + limit.toMillis() / 1000.0 + " s";
        };
    }

    /** The end that {@code rank.py} answers with. */
    static RankEnd of(List<?> answer, Duration limit) {
        return switch (String.valueOf(answer.getFirst())) {
            case "returned" -> new Returned(answer.get(1));
            case "exited" -> new Exited(((Number) answer.get(1)).intValue());
            case "late" -> new Late(limit);
            default ->
                    new Raised(
                            String.valueOf(answer.get(1)),
                            String.valueOf(answer.get(2)),
                            String.valueOf(answer.get(3)));
        };
    }
}
