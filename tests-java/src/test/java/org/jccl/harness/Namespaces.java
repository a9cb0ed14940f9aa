package org.jccl.harness;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Namespaces of an ordinary user, in which processes of ranks run. Each is held by a process that
 * ends when its standard input does, so nothing outlives the test.
 */
public interface Namespaces extends AutoCloseable {
    /** The beginning of a command that runs in the first or the second half of them. */
    List<String> enter(int which);

    @Override
    void close();

    /** A process inside new namespaces; it has entered them when it has said so. */
    static Process hold(List<String> enter, String then) throws IOException {
        List<String> command = new ArrayList<>(enter);
        command.addAll(List.of("sh", "-c", then + "echo inside && exec cat"));
        Process holder = new ProcessBuilder(command).redirectErrorStream(true).start();
        BufferedReader lines =
                new BufferedReader(
                        new InputStreamReader(holder.getInputStream(), StandardCharsets.UTF_8));
        String line = lines.readLine();
        if (!"inside".equals(line)) {
            holder.destroyForcibly();
            throw new IOException(String.join(" ", enter) + ": " + line);
        }
        return holder;
    }

    /** The beginning of a command that runs where the holder is. */
    static List<String> enter(Process holder, String kind) {
        return List.of(
                "nsenter",
                "--target",
                "" + holder.pid(),
                "--user",
                "--preserve-credentials",
                kind,
                "--");
    }

    /** Ends a holder, if there is one. */
    static void end(@org.jspecify.annotations.Nullable Process holder) {
        if (holder != null) {
            holder.destroyForcibly();
            try {
                holder.waitFor(10, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
