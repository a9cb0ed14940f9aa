package org.jccl.embed;

import java.io.File;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Replaces this process by one whose Java VM has the flags, and the class path, that it needs. */
final class Restart {
    private static final String DONE = "jccl.embed.restarted";

    private static final List<String> FLAGS =
            List.of(
                    "--enable-native-access=ALL-UNNAMED",
                    "--add-modules=jdk.incubator.vector",
                    // Truffle uses it; without the flag Java warns.
                    "--sun-misc-unsafe-memory-access=allow",
                    "-D" + DONE + "=true");

    private Restart() {}

    /** Whether this process is the second one. */
    static boolean done() {
        return Boolean.getBoolean(DONE);
    }

    /**
     * Starts again; returns only if that fails.
     *
     * @param jars what the class path has after this jar
     * @param words the command line
     */
    static void with(List<Path> jars, String... words) throws Throwable {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        List<String> command = new ArrayList<>(List.of(java));
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(FLAGS);
        List<String> path = new ArrayList<>(List.of(System.getProperty("java.class.path")));
        jars.forEach(jar -> path.add(jar.toString()));
        command.addAll(List.of("-cp", String.join(File.pathSeparator, path)));
        command.add(Main.class.getName());
        command.addAll(List.of(words));
        System.out.flush();
        exec(command);
    }

    @SuppressWarnings("restricted")
    private static void exec(List<String> command) throws Throwable {
        Linker linker = Linker.nativeLinker();
        FunctionDescriptor described =
                FunctionDescriptor.of(
                        ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.ADDRESS);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment words = arena.allocate(ValueLayout.ADDRESS, command.size() + 1L);
            for (int i = 0; i < command.size(); i++) {
                words.setAtIndex(ValueLayout.ADDRESS, i, arena.allocateFrom(command.get(i)));
            }
            MemorySegment function = linker.defaultLookup().findOrThrow("execv");
            int failed =
                    (int)
                            linker.downcallHandle(function, described)
                                    .invokeExact(words.get(ValueLayout.ADDRESS, 0), words);
            throw new IllegalStateException(
                    command.getFirst() + " cannot be started (" + failed + ")");
        }
    }
}
