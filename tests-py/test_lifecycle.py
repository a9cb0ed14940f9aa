"""The JVM as a guest: exits, forks, threads, signal handlers, torch and pytest beside it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import numpy
import pytest
from harness import NET, Cluster, Rank, run_ranks, settled
from jccl.core import SUM, Communicator, NCCLConfig, NCCLError, get_unique_id

LIMIT_S = 600
ONE_RANK = """
import numpy, jccl.core as jc
comm = jc.Communicator.init(1, 0, jc.get_unique_id())
data = numpy.ones(4)
comm.allreduce(data, data, jc.SUM)
"""


def run_python(code: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        **options,
    )


def ends_well(code: str, expected: str = "") -> None:
    done = run_python(code)
    assert (done.returncode, done.stdout) == (0, expected), done.stderr


# --- communicators ----------------------------------------------------------------------------


def _split(rank: Rank) -> tuple[int, int, float, bool]:
    with rank.comm() as comm:
        # Keys reverse the order within each colour.
        child = comm.split(rank.rank % 2, -rank.rank)
        data = numpy.array([float(rank.rank)])
        child.allreduce(data, data, SUM)
        numbers = (child.rank, child.nranks, float(data[0]))
        child.destroy()
        none = comm.split(None if rank.rank else 0)
        valid = none.is_valid
        none.destroy()
        return (*numbers, valid)


@pytest.mark.parametrize("options", [{}, {"environment": NET}, {"threads": 4}, {"hosts": 2}])
def test_split_by_colour_and_key(options: dict[str, Any]) -> None:
    expected = [(1, 2, 2.0, True), (1, 2, 4.0, False), (0, 2, 2.0, False), (0, 2, 4.0, False)]
    assert run_ranks(_split, 4, **options) == expected


def _many_communicators(rank: Rank) -> int:
    comms = [rank.comm(name=str(i)) for i in range(6)]
    data = numpy.ones(10)
    for comm in comms:
        comm.allreduce(data, data, SUM)
    for comm in comms[::-1]:
        comm.destroy()
    return int(data[0])


def test_several_communicators_live_side_by_side() -> None:
    assert run_ranks(_many_communicators, 2) == [64] * 2


def _poll_both(rank: Rank) -> int:
    parent = settled(rank.comm(NCCLConfig(blocking=False)))
    child = parent.split(0, rank.rank)
    assert child.ptr != 0
    settled(child)
    settled(parent)
    data = numpy.ones(3)
    child.allreduce(data, data, SUM)
    settled(child)
    for comm in (child, parent):
        comm.destroy()
    return int(data.sum())


def test_parent_and_child_of_a_non_blocking_split_can_both_be_polled() -> None:
    assert run_ranks(_poll_both, 2) == [6, 6]


def _aborts_alone(rank: Rank) -> str:
    comm = rank.comm()
    data = numpy.ones(1)
    comm.allreduce(data, data, SUM)
    if rank.rank == 0:
        before = time.monotonic()
        comm.abort()
        assert time.monotonic() - before < 10
        return "aborted"
    try:
        comm.allreduce(data, data, SUM)
    except NCCLError as error:
        comm.abort()
        return error.name
    return "no error"


def test_abort_is_local_and_the_peer_learns_of_it() -> None:
    assert run_ranks(_aborts_alone, 2) == ["aborted", "RemoteError"]


def _abort_from_another_thread(rank: Rank) -> str:
    comm = rank.comm()
    data = numpy.ones(1)
    if rank.rank == 1:
        rank.get("aborted")
        comm.abort()
        return ""
    handle, library = comm.ptr, comm._library
    timer = threading.Timer(0.5, lambda: library.comm_abort(handle))
    timer.start()
    try:
        comm.allreduce(data, data, SUM)
        text = "no error"
    except NCCLError as error:
        text = error.name
    timer.join()
    rank.put("aborted")
    return text


def test_an_abort_from_another_thread_ends_a_blocked_call() -> None:
    first, _ = run_ranks(_abort_from_another_thread, 2)
    assert first not in ("no error", "")


def _threads_of_python(rank: Rank) -> list[float]:
    comms = [rank.comm(name=str(i)) for i in range(3)]
    sums = [0.0] * 3

    def work(i: int) -> None:
        for _ in range(50):
            data = numpy.ones(100 * (i + 1))
            comms[i].allreduce(data, data, SUM)
            sums[i] += float(data[0])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for comm in comms:
        comm.destroy()
    return sums


def test_threads_that_java_does_not_know_call_the_library() -> None:
    assert run_ranks(_threads_of_python, 2) == [[100.0] * 3] * 2


# --- the end of the process -------------------------------------------------------------------


def test_a_program_ends_with_a_live_communicator() -> None:
    ends_well(ONE_RANK + "print(data.sum())", "4.0\n")


def test_a_programs_own_status_is_kept() -> None:
    assert run_python(ONE_RANK + "import sys; sys.exit(17)").returncode == 17
    assert run_python(ONE_RANK + "raise ValueError").returncode == 1
    assert run_python(ONE_RANK + "import os; os._exit(5)").returncode == 5


def _leaves_live(rank: Rank) -> float:
    comm = rank.comm()
    data = numpy.ones(1 << 18)
    comm.allreduce(data, data, SUM)
    globals()["kept"] = comm
    return float(data[0])


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("options", [{}, {"environment": NET}])
def test_ranks_end_with_live_communicators(options: dict[str, Any]) -> None:
    with Cluster(2, **options) as cluster:
        assert cluster.start(_leaves_live).values() == [2.0, 2.0]
        assert [cluster.status(0), cluster.status(1)] == [0, 0]


def _peer_leaves(rank: Rank) -> str:
    comm = rank.comm()
    data = numpy.ones(1)
    comm.allreduce(data, data, SUM)
    if rank.rank == 1:
        return ""
    try:
        comm.allreduce(data, data, SUM)
    except NCCLError as error:
        comm.abort()
        return f"{error.name}: {error.detail}"
    return "no error"


@pytest.mark.parametrize("options", [{}, {"environment": NET}])
def test_a_peer_that_ended_on_purpose_is_named(options: dict[str, Any]) -> None:
    text, _ = run_ranks(_peer_leaves, 2, fresh=True, **options)
    assert text.startswith("RemoteError")
    assert "rank 1" in text


# --- signals ----------------------------------------------------------------------------------


def test_ctrl_c_in_python_code_is_a_keyboard_interrupt() -> None:
    ends_well(
        ONE_RANK
        + """
import os, signal, time
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(10)
except KeyboardInterrupt:
    print("interrupted")
""",
        "interrupted\n",
    )


def test_sigterm_ends_the_process_as_ever() -> None:
    done = run_python(
        ONE_RANK + "import os, signal, time; os.kill(os.getpid(), signal.SIGTERM); time.sleep(10)"
    )
    assert done.returncode == -signal.SIGTERM


BUSY_JAVA = """
import threading
def busy():
    for _ in range(20000):
        comm.allreduce(data, data, jc.SUM)
"""


@pytest.mark.parametrize("when", ["before", "after", "both"])
def test_faulthandler_and_compiled_java_code_get_on(when: str) -> None:
    early = "import faulthandler; faulthandler.enable()" if when != "after" else ""
    late = "faulthandler.enable()" if when != "before" else ""
    code = f"""
{early}
{ONE_RANK}
{BUSY_JAVA}
import faulthandler
{late}
busy()
faulthandler.disable()
busy()
print("done")
"""
    ends_well(code, "done\n")


def test_a_crash_is_still_reported_by_faulthandler(tmp_path: Path) -> None:
    done = run_python(
        "import faulthandler; faulthandler.enable()\n"
        + ONE_RANK
        + "import ctypes; ctypes.string_at(8)",
        cwd=tmp_path,
        env={**os.environ, "JCCL_ERROR_DIR": str(tmp_path)},
    )
    assert done.returncode < 0
    assert "string_at" in done.stderr


def test_pytest_keeps_its_exit_status(tmp_path: Path) -> None:
    test = f"def test_one():\n{textwrap.indent(ONE_RANK + BUSY_JAVA, '    ')}\n    busy()\n"
    (tmp_path / "test_inside.py").write_text(test, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "faulthandler", "test_inside.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


# --- other processes --------------------------------------------------------------------------


def _child(value: int) -> int:
    return value * 2


def test_subprocess_and_multiprocessing_work_after_init() -> None:
    ends_well(
        ONE_RANK
        + """
import multiprocessing, subprocess, os
assert subprocess.run(["true"]).returncode == 0
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(abs, [-1, -2]) == [1, 2]
child = os.fork()
if child == 0:
    raise SystemExit(3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
print(comm.nranks)
""",
        "1\n",
    )


def test_a_spawned_child_has_its_own_library() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(_child, [21]) == [42]


def test_a_call_from_a_forked_child_is_an_error_that_names_the_ways_out() -> None:
    ends_well(
        ONE_RANK
        + """
import os, sys
child = os.fork()
if child == 0:
    for call in (lambda: comm.allreduce(data, data, jc.SUM), jc.get_unique_id):
        try:
            call()
        except jc.NCCLError as error:
            assert error.name == "InvalidUsage", error
            assert "spawn" in str(error), error
            assert "jccl.run" in str(error), error
        else:
            os._exit(1)
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
comm.allreduce(data, data, jc.SUM)
print("parent works")
""",
        "parent works\n",
    )


def test_a_child_of_a_forked_child_keeps_its_descriptors() -> None:
    ends_well(
        ONE_RANK
        + """
import os
jc.get_unique_id()
kept = len(os.listdir("/proc/self/fd"))
child = os.fork()
if child == 0:
    # JCCL's descriptors are closed, and the system gives their numbers again.
    assert len(os.listdir("/proc/self/fd")) < kept
    opened = [end for _ in range(32) for end in os.pipe()]
    grandchild = os.fork()
    if grandchild == 0:
        for end in opened:
            os.fstat(end)
        os._exit(0)
    os._exit(os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""",
        "0\n",
    )


def test_a_process_forked_before_the_jvm_makes_its_own() -> None:
    ends_well(
        "import os, jccl.core\nchild = os.fork()\n"
        + ONE_RANK
        + """
if child == 0:
    os._exit(int(data.sum()))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""",
        "4\n",
    )


# --- others in the process --------------------------------------------------------------------


@pytest.mark.parametrize("order", ["torch first", "torch last"])
def test_torch_is_imported_before_or_after(order: str) -> None:
    parts = ["import torch\n", ONE_RANK]
    ends_well(
        "".join(parts if order == "torch first" else parts[::-1])
        + """
tensor = torch.ones(1000)
comm.allreduce(tensor, tensor, jc.SUM)
model = torch.nn.Linear(300, 300)
model(torch.ones(64, 300)).sum().backward()
print(int(tensor.sum()))
""",
        "1000\n",
    )


def test_importing_and_asking_for_versions_starts_no_jvm() -> None:
    ends_well(
        """
        import contextlib, io, jccl, jccl.core
        jccl.core.get_version()
        jccl.core.get_error_string(3)
        with contextlib.redirect_stdout(io.StringIO()):
            jccl.show_versions()
        print("libjvm" in open("/proc/self/maps").read())
        """,
        "False\n",
    )


def test_a_wrong_java_home_is_a_sentence_that_says_what_to_do(tmp_path: Path) -> None:
    done = run_python(ONE_RANK, env={**os.environ, "JCCL_JAVA_HOME": str(tmp_path)})
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "NCCLError: SystemError (2)" in last
    assert "JCCL_JAVA_HOME" in last
    assert str(tmp_path) in last
    assert "Java 25 or newer" in last


def test_threads_do_not_grow_with_communicators() -> None:
    assert run_ranks(_count_threads, 2) == [True, True]


def _count_threads(rank: Rank) -> bool:
    def threads() -> int:
        return len(os.listdir("/proc/self/task"))

    data = numpy.ones(1)
    comms = [rank.comm(name=str(i)) for i in range(2)]
    for comm in comms:
        comm.allreduce(data, data, SUM)
    before = threads()
    more = [rank.comm(name=f"more/{i}") for i in range(12)]
    for comm in more:
        comm.allreduce(data, data, SUM)
    after = threads()
    for comm in comms + more:
        comm.destroy()
    # Job threads and compiler threads come and go; one per communicator would be 12.
    return after - before < 8


def test_an_id_is_good_for_one_communicator_of_this_process() -> None:
    comm = Communicator.init(1, 0, get_unique_id())
    data = numpy.arange(5.0)
    comm.allreduce(data, data, SUM)
    assert data.tolist() == [0, 1, 2, 3, 4]
    comm.destroy()


def test_a_device_that_is_not_there_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JCCL_DEVICE", "cuda:1")
    with pytest.raises(NCCLError, match=r'no device "cuda:1".*host'):
        Communicator.init(1, 0, get_unique_id())
    with Communicator.init(1, 0, get_unique_id(), NCCLConfig(device="host")) as comm:
        assert comm.device == -1
    monkeypatch.delenv("JCCL_DEVICE")
    with pytest.raises(NCCLError, match=r'no device "cuda:2".*host'):
        Communicator.init(1, 0, get_unique_id(), NCCLConfig(device="cuda:2"))
