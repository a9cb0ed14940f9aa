"""JCCL leaves out in a program's first seconds what would cost more than it gains."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from guest import python

#: All-reduces of a short training, and others that are worth a vector kernel.
TRAINING = """
def ranks(calls, count):
    def rank(comm):
        data = np.zeros(count, np.float32)
        for _ in range(calls):
            comm.allreduce(data, data, nccl.SUM)
    threads = [threading.Thread(target=rank, args=(comm,)) for comm in comms]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

comms = [None, None]
unique_id = nccl.get_unique_id()
def meet(rank):
    comms[rank] = nccl.Communicator.init(2, rank, unique_id)
threads = [threading.Thread(target=meet, args=(rank,)) for rank in (0, 1)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
ranks(880, 50_000)
"""
KERNEL = "org.jccl.reduce.VectorTemplate"


def test_an_init_loads_nothing_that_only_some_programs_need(tmp_path: Path) -> None:
    log = tmp_path / "classes"
    environment = {"JCCL_JVM_OPTIONS": f"-Xlog:class+load:file={log}"}
    python("add(one_rank())", environment=environment)
    loaded = set(re.findall(r"\] ([\w.$]+) source:", log.read_text()))
    assert "org.jccl.comm.Comm" in loaded
    dear = {
        "java.lang.invoke.StringConcatFactory",
        "java.math.BigDecimal",
        "java.util.Formatter",
        "javax.crypto.Mac",
    }
    assert loaded & dear == set()


def test_a_vector_kernel_is_compiled_when_it_is_worth_it_and_not_before(tmp_path: Path) -> None:
    log = tmp_path / "classes"
    code = f"""
    {textwrap.indent(TRAINING, "    ")}
    print({KERNEL!r} in open({str(log)!r}).read())
    ranks(130, 1 << 22)
    deadline = time.monotonic() + 60
    while {KERNEL!r} not in open({str(log)!r}).read() and time.monotonic() < deadline:
        time.sleep(0.1)
    print({KERNEL!r} in open({str(log)!r}).read())
    """
    environment = {"JCCL_JVM_OPTIONS": f"-Xlog:class+load:file={log}"}
    assert python(code, environment=environment).split() == ["False", "True"]


#: Java's own thresholds.
DEFAULTS = (
    " -XX:Tier4InvocationThreshold=5000 -XX:Tier4MinInvocationThreshold=600"
    " -XX:Tier4CompileThreshold=15000 -XX:Tier4BackEdgeThreshold=40000"
)


def test_the_optimizing_compiler_leaves_most_methods_of_a_short_program_alone(
    tmp_path: Path,
) -> None:
    log = tmp_path / "compiled"

    def compiled(options: str) -> int:
        log.unlink(missing_ok=True)
        options = f"-Xlog:jit+compilation=debug:file={log}{options}"
        python(TRAINING, environment={"JCCL_JVM_OPTIONS": options})
        return len(re.findall(r"\] +\d+ +[%sbn! ]*4 +(\S+)", log.read_text()))

    # 55 to 80 against 105 to 145, both more where other programs compute.
    ours, by_default = (sum(compiled(options) for _ in range(2)) for options in ("", DEFAULTS))
    assert 0 < ours < 0.85 * by_default
