package org.jccl.embed;

import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;

/**
 * The command line.
 *
 * @param host graalpy or jep
 * @param python the Python of Jep
 * @param job what to run
 */
record Options(String host, Path python, PythonJob job) {
    static final String USAGE =
            """
            usage: java -jar jccl-embed.jar --host graalpy|jep --ranks N [options] PROGRAM [arg ...]

            PROGRAM is script.py, -m module or -c code; it runs as N ranks of one Java VM.

              --host graalpy   GraalPy, which comes with the jar
              --host jep       CPython, with numpy and torch; its package jep must be installed
              --python PATH    which Python Jep runs (default: python3)
              --ranks N        how many ranks (default: 1)
              --deadline S     stop ranks that are not done after so many seconds
            """;

    /** What is wrong with a command line. */
    static final class WrongException extends Exception {
        private static final long serialVersionUID = 1;

        WrongException(String message) {
            super(message);
        }
    }

    static Options of(String... words) throws WrongException {
        String host = "graalpy";
        Path python = Path.of("python3");
        int ranks = 1;
        Duration deadline = Duration.ZERO;
        PythonProgram program = null;
        Iterator<String> left = List.of(words).iterator();
        while (program == null) {
            String word = next(left, "a program");
            switch (word) {
                case "--host" -> host = host(next(left, word));
                case "--python" -> python = Path.of(next(left, word));
                case "--ranks" -> ranks = ranks(next(left, word));
                case "--deadline" -> deadline = seconds(word, next(left, word));
                default -> program = program(word, left);
            }
        }
        List<String> arguments = new java.util.ArrayList<>();
        left.forEachRemaining(arguments::add);
        PythonJob job = PythonJob.of(program, ranks).with(arguments).within(deadline);
        return new Options(host, python, job);
    }

    private static String next(Iterator<String> left, String before) throws WrongException {
        if (!left.hasNext()) {
            throw new WrongException("something is missing: " + before);
        }
        return left.next();
    }

    private static String host(String name) throws WrongException {
        if (!name.equals("graalpy") && !name.equals("jep")) {
            throw new WrongException("--host is " + name + ": it must be graalpy or jep");
        }
        return name;
    }

    private static int ranks(String text) throws WrongException {
        try {
            int number = Integer.parseInt(text);
            if (number >= 1) {
                return number;
            }
        } catch (NumberFormatException e) {
            // Said below.
        }
        throw new WrongException("--ranks is " + text + ": it must be a whole number from 1");
    }

    /** A very short limit must not become 0, which means none. */
    private static Duration seconds(String option, String text) throws WrongException {
        try {
            double number = Double.parseDouble(text);
            if (number >= 0 && number <= Integer.MAX_VALUE) {
                return Duration.ofMillis((long) Math.ceil(1000 * number));
            }
        } catch (NumberFormatException e) {
            // Said below.
        }
        throw new WrongException(
                option + " is " + text + ": it must be a number of seconds from 0");
    }

    private static @Nullable PythonProgram program(String word, Iterator<String> left)
            throws WrongException {
        if (word.equals("-m")) {
            return new PythonProgram.Module(next(left, word));
        } else if (word.equals("-c")) {
            return new PythonProgram.Code(next(left, word));
        } else if (word.startsWith("-")) {
            throw new WrongException(word + " is no option");
        }
        return new PythonProgram.Script(Path.of(word));
    }
}
