package org.jccl.embed;

import org.graalvm.polyglot.Engine;
import org.jspecify.annotations.Nullable;

import java.util.concurrent.atomic.AtomicReference;

/** GraalPy, from the jars beside this one: each rank is a context on one engine. */
public final class GraalPyHost implements PythonHost {
    private final Engine engine;
    private final AtomicReference<@Nullable Object> bytecodeWriter = new AtomicReference<>();

    /** Set if a rank goes on although it was killed (volatile: any thread may close). */
    private volatile boolean inUse;

    /** Makes the engine. */
    public GraalPyHost() {
        engine =
                Engine.newBuilder("python")
                        // Speed of Python code is not what this host is for.
                        .option("engine.WarnInterpreterOnly", "false")
                        .build();
    }

    @Override
    public JobEnd run(PythonJob job) throws InterruptedException {
        RankThreads threads =
                new RankThreads(job, new GraalPyContexts(engine, bytecodeWriter, job));
        try {
            return threads.run();
        } finally {
            inUse |= threads.gaveUp();
        }
    }

    @Override
    public void close() {
        // Closing waits for all contexts: one that nothing ends is left to the process's end.
        if (!inUse) {
            engine.close(true);
        }
    }
}
