package org.jccl.embed;

import jep.JepConfig;
import jep.MainInterpreter;
import jep.PyConfig;
import jep.SharedInterpreter;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * Jep: CPython in this process, with numpy and torch. Each rank is a {@code SharedInterpreter}; all
 * of them share CPython's modules and its global lock, which is free during calls of the library. A
 * {@code SubInterpreter}, which would share nothing, ends the process when it imports numpy or
 * torch: it is never used.
 */
public final class JepHost implements PythonHost {
    /** Variables with which CPython enables faulthandler as it starts. */
    private static final List<String> FAULTHANDLER = List.of("PYTHONFAULTHANDLER", "PYTHONDEVMODE");

    /** The Python of this process, which cannot be replaced (guarded by the class). */
    private static @Nullable Path started;

    /**
     * Starts CPython, at the first use in this process.
     *
     * @param python the Python to run, such as {@code .venv/bin/python}, or one that PATH finds,
     *     which has the package jep
     * @throws IllegalStateException if it has no jep, or one that does not fit the classes of Jep
     *     in this Java VM; if the environment enables faulthandler; or if the process runs another
     *     Python already
     */
    public JepHost(Path python) throws IOException, InterruptedException {
        start(JepPackage.of(python));
    }

    private static void refuseFaulthandler() {
        for (String variable : FAULTHANDLER) {
            String value = System.getenv(variable);
            if (value != null && !value.isEmpty()) {
                throw new IllegalStateException(
                        variable
                                + " is set: Python's faulthandler would take the signals that this"
                                + " Java VM needs, and the next one would end the process; unset"
                                + " it");
            }
        }
    }

    private static synchronized void start(JepPackage found) {
        Path python = found.python();
        if (started != null) {
            if (!started.equals(python)) {
                throw new IllegalStateException(
                        "this process runs " + started + ", and cannot run " + python + ", too");
            }
            return;
        }
        refuseFaulthandler();
        found.requireClassesOf(MainInterpreter.class);
        MainInterpreter.setJepLibraryPath(found.library().toString());
        MainInterpreter.setInitParams(PyConfig.python().setProgramName(python.toString()));
        SharedInterpreter.setConfig(new JepConfig().setClassLoader(JepHost.class.getClassLoader()));
        ExitHandlers.skip();
        JepInterpreters.prepare();
        started = python;
    }

    @Override
    public JobEnd run(PythonJob job) throws InterruptedException {
        return new RankThreads(job, new JepInterpreters(job)).run();
    }

    /** Does nothing: CPython ends with the process, without exit handlers of native libraries. */
    @Override
    public void close() {}
}
