package org.jccl.embed;

import org.jccl.abi.NcclApi;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * The command: runs a program as ranks of this Java VM; its status is that of the first failure.
 */
public final class Main {
    private static final int WRONG = 2;

    private Main() {}

    /** See {@link Options#USAGE}. */
    public static void main(String... words) throws Throwable {
        Options options;
        try {
            options = Options.of(words);
        } catch (Options.WrongException e) {
            System.err.print("jccl-embed: " + e.getMessage() + "\n" + Options.USAGE);
            System.exit(WRONG);
            return;
        }
        try {
            if (!Restart.done()) {
                Restart.with(jars(options), words);
            }
            System.exit(run(options));
        } catch (IllegalStateException | IOException e) {
            System.err.println("jccl-embed: " + e.getMessage());
            System.exit(WRONG);
        }
    }

    private static List<Path> jars(Options options) throws IOException, InterruptedException {
        return options.host().equals("jep")
                ? List.of(JepPackage.of(options.python()).jar())
                : List.of();
    }

    private static int run(Options options) throws IOException, InterruptedException {
        NcclApi.endWithHost();
        try (PythonHost host =
                options.host().equals("jep") ? new JepHost(options.python()) : new GraalPyHost()) {
            JobEnd end = host.run(options.job());
            for (int rank = 0; rank < end.ranks().size(); rank++) {
                if (end.rank(rank) instanceof RankEnd.Raised raised) {
                    say(rank, raised.traceback().stripTrailing());
                }
            }
            for (int rank = 0; rank < end.ranks().size(); rank++) {
                if (end.rank(rank).status() != 0) {
                    String first = rank == end.firstFailed() ? " (the first to fail)" : "";
                    System.err.println("jccl-embed: " + end.rank(rank).of(rank) + first);
                }
            }
            System.err.flush();
            return end.status();
        }
    }

    private static void say(int rank, String traceback) {
        traceback.lines().forEach(line -> System.err.println("[" + rank + "] " + line));
    }
}
