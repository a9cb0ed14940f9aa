package org.jccl.embed;

import org.graalvm.polyglot.Engine;

/** GraalPy, from the jars beside this one: each rank is a context on one engine. */
public final class GraalPyHost implements PythonHost {
    private final Engine engine;

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
        return new RankThreads(job, new GraalPyContexts(engine, job)).run();
    }

    @Override
    public void close() {
        engine.close(true);
    }
}
