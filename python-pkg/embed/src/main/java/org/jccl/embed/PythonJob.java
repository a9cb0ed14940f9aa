package org.jccl.embed;

import java.io.OutputStream;
import java.time.Duration;
import java.util.List;

/**
 * A program that runs as several ranks.
 *
 * @param program what each rank runs
 * @param ranks how many ranks there are, 1 or more
 * @param arguments those of the program, without its name
 * @param deadline how long the job may take; zero means for ever
 * @param out where lines of standard output go, each after its rank in brackets
 * @param err the same for standard error
 */
public record PythonJob(
        PythonProgram program,
        int ranks,
        List<String> arguments,
        Duration deadline,
        OutputStream out,
        OutputStream err) {
    /** Checks the number of ranks. */
    public PythonJob {
        if (ranks < 1) {
            throw new IllegalArgumentException(
                    "a job of " + ranks + " ranks has none; ask for 1 or more");
        }
        arguments = List.copyOf(arguments);
    }

    /** A job without arguments and deadline, on the standard streams of the process. */
    public static PythonJob of(PythonProgram program, int ranks) {
        return new PythonJob(program, ranks, List.of(), Duration.ZERO, System.out, System.err);
    }

    /** The same with arguments. */
    public PythonJob with(List<String> arguments) {
        return new PythonJob(program, ranks, arguments, deadline, out, err);
    }

    /** The same with a deadline. */
    public PythonJob within(Duration deadline) {
        return new PythonJob(program, ranks, arguments, deadline, out, err);
    }

    /** The same with other streams. */
    public PythonJob to(OutputStream out, OutputStream err) {
        return new PythonJob(program, ranks, arguments, deadline, out, err);
    }
}
