package org.jccl.embed;

import org.graalvm.polyglot.Context;
import org.graalvm.polyglot.Engine;
import org.graalvm.polyglot.PolyglotException;
import org.graalvm.polyglot.Source;
import org.graalvm.polyglot.Value;
import org.jccl.abi.Guest;
import org.jspecify.annotations.Nullable;

import java.io.File;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceArray;

/** The contexts of GraalPy of one job. */
final class GraalPyContexts implements Interpreters {
    private static final Source PROGRAM =
            Source.newBuilder("python", Resources.program(), "rank.py").buildLiteral();

    private final Engine engine;

    /** The context of the engine that keeps bytecode in files, by its output, if there is one. */
    private final AtomicReference<@Nullable Object> writer;

    private final PythonJob job;
    private final AtomicReferenceArray<@Nullable Context> contexts;
    private final List<PrefixedStream> streams = new ArrayList<>();

    /**
     * The contexts of a job.
     *
     * @param writer empty, the same for all jobs of the engine
     */
    GraalPyContexts(Engine engine, AtomicReference<@Nullable Object> writer, PythonJob job) {
        this.engine = engine;
        this.writer = writer;
        this.job = job;
        this.contexts = new AtomicReferenceArray<>(job.ranks());
        for (int rank = 0; rank < job.ranks(); rank++) {
            streams.add(new PrefixedStream(job.out(), "[" + rank + "] "));
            streams.add(new PrefixedStream(job.err(), "[" + rank + "] "));
        }
    }

    private Context context(int rank) {
        String found = System.getenv("PYTHONPATH");
        String path =
                (found == null || found.isEmpty() ? "" : found + File.pathSeparator)
                        + Resources.packages();
        Context.Builder builder =
                Context.newBuilder("python")
                        .engine(engine)
                        .allowAllAccess(true)
                        .option("python.PythonPath", path)
                        .option("python.WarnExperimentalFeatures", "false")
                        // Compiling what a program imports takes longer than starting Python. But
                        // contexts of one engine share what they have compiled, and GraalPy's way
                        // to write it is not for two threads at once: the files could be wrong.
                        .option("python.DontWriteBytecodeFlag", writes(rank) ? "false" : "true")
                        .option("python.PyCachePrefix", Resources.bytecode())
                        .out(streams.get(2 * rank))
                        .err(streams.get(2 * rank + 1));
        for (String variable : Resources.variables(rank, job.ranks())) {
            String[] parts = variable.split("=", 2);
            builder.environment(parts[0], parts[1]);
        }
        return builder.build();
    }

    private boolean writes(int rank) {
        return writer.compareAndSet(null, streams.get(2 * rank));
    }

    @Override
    public RankEnd run(int rank, Guest guest) {
        Context context = context(rank);
        contexts.set(rank, context);
        try {
            context.eval(PROGRAM);
            Value run = context.getBindings("python").getMember("run");
            PythonProgram program = job.program();
            Value answer =
                    run.execute("" + rank, program.kind(), program.target(), job.arguments());
            List<?> plain = (List<?>) plain(answer);
            return RankEnd.of(plain == null ? List.of() : plain, job.deadline());
        } catch (PolyglotException e) {
            if (e.isCancelled() || e.isInterrupted()) {
                return new RankEnd.Late(job.deadline());
            }
            if (e.isExit()) {
                return new RankEnd.Exited(e.getExitStatus());
            }
            throw e;
        }
    }

    /** A value of {@code rank.py}, which gives plain ones only, as Java's. */
    private static @Nullable Object plain(Value value) {
        if (value.isNull()) {
            return null;
        } else if (value.isBoolean()) {
            return value.asBoolean();
        } else if (value.isString()) {
            return value.asString();
        } else if (value.isNumber() && isFloat(value)) {
            return value.asDouble();
        } else if (value.isNumber()) {
            return value.asLong();
        } else if (value.hasArrayElements()) {
            List<@Nullable Object> list = new ArrayList<>();
            for (long i = 0; i < value.getArraySize(); i++) {
                list.add(plain(value.getArrayElement(i)));
            }
            return list;
        }
        Map<String, @Nullable Object> map = new LinkedHashMap<>();
        for (Value keys = value.getHashKeysIterator(); keys.hasIteratorNextElement(); ) {
            Value key = keys.getIteratorNextElement();
            map.put(key.asString(), plain(value.getHashValue(key)));
        }
        return map;
    }

    private static boolean isFloat(Value value) {
        return value.getMetaObject().getMetaSimpleName().equals("float");
    }

    @Override
    public void interrupt(int rank) {
        Context context = contexts.get(rank);
        if (context != null) {
            try {
                context.interrupt(Duration.ofSeconds(1));
            } catch (TimeoutException stillRuns) {
                // It is killed next.
            }
        }
    }

    @Override
    public void kill(int rank) {
        Context context = contexts.get(rank);
        if (context != null) {
            context.close(true);
        }
    }

    @Override
    public boolean free(int rank) {
        Context context = contexts.get(rank);
        try {
            if (context != null) {
                context.close(true);
            }
            return true;
        } finally {
            writer.compareAndSet(streams.get(2 * rank), null);
            PrefixedStream.closeAll(streams.subList(2 * rank, 2 * rank + 2));
        }
    }
}
