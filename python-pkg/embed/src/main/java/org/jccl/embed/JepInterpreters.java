package org.jccl.embed;

import jep.SharedInterpreter;

import org.jccl.abi.Guest;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/** The interpreters of Jep of one job. */
final class JepInterpreters implements Interpreters {
    private static final String MODULE =
            """
            import sys, types
            module = types.ModuleType("_jccl_rank")
            exec(compile(text, "rank.py", "exec"), vars(module))
            sys.modules["_jccl_rank"] = module
            module.share_interpreter()
            if packages not in sys.path:
                sys.path.append(packages)
            """;
    private static final String IMPORT = "from _jccl_rank import enter, run, stop";

    /** How many jobs there were; any thread adds. */
    private static final AtomicLong JOBS = new AtomicLong();

    private final long number = JOBS.getAndIncrement();
    private final PythonJob job;
    private final List<PrefixedStream> streams = new ArrayList<>();

    /** By rank, whose thread makes, uses and closes its own. */
    private final @Nullable SharedInterpreter[] interpreters;

    JepInterpreters(PythonJob job) {
        this.job = job;
        this.interpreters = new SharedInterpreter[job.ranks()];
        for (int rank = 0; rank < job.ranks(); rank++) {
            streams.add(new PrefixedStream(job.out(), "[" + rank + "] "));
            streams.add(new PrefixedStream(job.err(), "[" + rank + "] "));
        }
    }

    /** Makes the module that all interpreters share; once, on any thread. */
    static void prepare() {
        try (SharedInterpreter first = new SharedInterpreter()) {
            first.set("text", Resources.program());
            first.set("packages", Resources.packages().toString());
            first.exec(MODULE);
        }
    }

    @Override
    public RankEnd run(int rank, Guest guest) {
        SharedInterpreter own = new SharedInterpreter();
        interpreters[rank] = own;
        own.exec(IMPORT);
        List<String> variables = Resources.variables(rank, job.ranks());
        PrefixedStream out = streams.get(2 * rank);
        PrefixedStream err = streams.get(2 * rank + 1);
        own.invoke("enter", guest, Long.toString(number), variables, out, err);
        PythonProgram program = job.program();
        Object answer =
                own.invoke("run", key(rank), program.kind(), program.target(), job.arguments());
        return RankEnd.of((List<?>) answer, job.deadline());
    }

    @Override
    public void interrupt(int rank) {
        try (SharedInterpreter other = new SharedInterpreter()) {
            other.exec(IMPORT);
            other.invoke("stop", key(rank));
        }
    }

    /** The name of a rank in the module, which the jobs share. */
    private String key(int rank) {
        return number + "/" + rank;
    }

    /** Nothing ends a thread of CPython that goes on. */
    @Override
    public void kill(int rank) {}

    @Override
    public boolean free(int rank) {
        SharedInterpreter own = interpreters[rank];
        if (own != null) {
            own.close();
        }
        PrefixedStream.closeAll(streams.subList(2 * rank, 2 * rank + 2));
        return false;
    }
}
