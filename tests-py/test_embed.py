"""The command of jccl-embed.jar: programs as ranks of one Java VM, and how they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from embedded import command, java, run

Script = Callable[[str], str]

_BEGIN = """
import array, os, sys, time
import jccl.core as c
comm = c.Communicator.from_env()
x = array.array("f", [comm.rank + 1.0]) * 1000
comm.allreduce(x, x, c.SUM)
"""


@pytest.fixture
def script(tmp_path: Path) -> Script:
    def write(code: str) -> str:
        path = tmp_path / "script.py"
        path.write_text(_BEGIN + textwrap.dedent(code), encoding="utf-8")
        return str(path)

    return write


def _lines(text: str) -> list[str]:
    return sorted(line for line in text.splitlines() if line.startswith("["))


_PRINT = 'print(comm.rank, comm.nranks, x[999], sys.argv[1:], __name__, os.environ["RANK"])\n'


def _printed(ranks: int) -> list[str]:
    """The lines of _PRINT, with two arguments."""
    total = float(ranks * (ranks + 1) // 2)
    return [f"[{r}] {r} {ranks} {total} ['a', '-b'] __main__ {r}" for r in range(ranks)]


# For GraalPy, which takes seconds to start, the test of a rank that ends early checks the same.
def test_script_runs_as_ranks(script: Script) -> None:
    done = run("jep", "--ranks", "3", script(_PRINT + "comm.destroy()"), "a", "-b")
    assert done.returncode == 0, done.stderr
    assert _lines(done.stdout) == _printed(3)


_MODULE = """
        import pickle
        class Mine:
            pass
        assert type(pickle.loads(pickle.dumps(Mine()))) is Mine
        print("begun", __name__, sys.argv[1:], __spec__.name, flush=True)
"""
_AS_MODULE = ("-m", "script", "y")
_BEGUN = [f"[{rank}] begun __main__ ['y'] script" for rank in range(2)]


# For GraalPy the test of signals, whose ranks run as this one's, checks the same but the end.
@pytest.mark.parametrize("host", [pytest.param("graalpy", marks=pytest.mark.stress), "jep"])
def test_module_runs_and_is_found_by_pythonpath(host: str, script: Script) -> None:
    folder = Path(script(_MODULE + "        comm.destroy()")).parent
    done = run(host, "--ranks", "2", *_AS_MODULE, PYTHONPATH=str(folder))
    assert _lines(done.stdout) == _BEGUN, done.stderr
    assert done.returncode == 0


def test_code_has_its_arguments() -> None:
    done = run("jep", "-c", "import sys; print(sys.argv); sys.exit(3)", "x")
    assert done.returncode == 3
    assert done.stdout == "[0] ['-c', 'x']\n"


_EARLY_ENDS = {
    "raise KeyError('odd')": (1, "rank 1 raised KeyError: 'odd'"),
    "sys.exit(5)": (5, "rank 1 exited with status 5"),
    "sys.exit('a text')": (1, "rank 1 exited with status 1"),
}


# GraalPy takes seconds to start: what Python code does for both hosts is tested in Jep.
@pytest.mark.parametrize(
    ("host", "end"), [("graalpy", "sys.exit(5)"), *(("jep", end) for end in _EARLY_ENDS)]
)
def test_a_rank_that_ends_early_is_named_and_its_peers_are_told(
    host: str, script: Script, end: str
) -> None:
    status, sentence = _EARLY_ENDS[end]
    path = script(f"""
        {_PRINT}
        if comm.rank == 1:
            {end}
        try:
            comm.allreduce(x, x, c.SUM)
        except c.NCCLError as error:
            print("told:", error)
    """)
    done = run(host, "--ranks", "3", path, "a", "-b")
    assert done.returncode == status, done.stderr
    assert f"{sentence} (the first to fail)" in done.stderr
    told = [line for line in _lines(done.stdout) if " told: " in line]
    assert len(told) == 2
    assert all("RemoteError" in line and "rank 1" in line for line in told), told
    assert [line for line in _lines(done.stdout) if line not in told] == _printed(3)


def test_the_rank_that_leaves_its_communicator_by_an_exit_is_the_first_to_fail(
    tmp_path: Path,
) -> None:
    path = tmp_path / "script.py"
    path.write_text(
        textwrap.dedent("""
            import array, sys, time
            import jccl.core as c
            with c.Communicator.from_env() as comm:
                x = array.array("f", [1.0])
                if comm.rank == 1:
                    try:
                        sys.exit(5)
                    finally:
                        comm.abort()
                        time.sleep(1)
                comm.allreduce(x, x, c.SUM)
        """)
    )
    done = run("jep", "--ranks", "3", str(path))
    assert done.returncode == 5, done.stderr
    assert "rank 1 exited with status 5 (the first to fail)" in done.stderr
    assert done.stderr.count("raised NCCLError: RemoteError") == 2


@pytest.mark.parametrize("host", [pytest.param("graalpy", marks=pytest.mark.stress), "jep"])
def test_ranks_do_not_wait_for_one_that_ends_before_it_joins(host: str, tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(
        textwrap.dedent("""
            import os, time
            import jccl.core as c
            if os.environ["RANK"] == "1":
                time.sleep(1)
                raise ImportError("no such thing")
            start = time.monotonic()
            try:
                blocking = os.environ["RANK"] == "0"
                comm = c.Communicator.from_env(c.NCCLConfig(blocking=blocking))
                while comm.get_async_error() == c.Result.InProgress:
                    time.sleep(0.01)
                comm.finalize()
            except c.NCCLError as error:
                print(time.monotonic() - start < 60, error)
        """)
    )
    done = run(host, "--ranks", "3", str(path))
    assert done.returncode == 1, done.stderr
    assert "rank 1 raised ImportError: no such thing (the first to fail)" in done.stderr
    told = _lines(done.stdout)
    assert len(told) == 2, done.stdout + done.stderr
    assert all("True RemoteError" in line and "rank 1 has ended" in line for line in told), told


def test_a_ranks_variables_stay_its_own_in_jep(script: Script) -> None:
    path = script("""
        from unittest import mock
        for turn in range(comm.nranks):
            # One after the other: OTHER is a variable of the process, which all ranks see.
            if turn == comm.rank:
                with mock.patch.dict(os.environ, {"RANK": "many", "OTHER": "1"}):
                    assert os.environ["RANK"] == "many"
                assert "OTHER" not in os.environ
            comm.allreduce(x, x, c.SUM)
        assert int(os.environ["RANK"]) == comm.rank
        del os.environ["LOCAL_RANK"]
        assert "LOCAL_RANK" not in os.environ and "LOCAL_RANK" not in list(os.environ)
        comm.allreduce(x, x, c.SUM)
        os.environ["LOCAL_RANK"] = f"mine {comm.rank}"
        comm.allreduce(x, x, c.SUM)
        print(os.environ["LOCAL_RANK"])
        comm.destroy()
    """)
    done = run("jep", "--ranks", "3", path)
    assert done.returncode == 0, done.stderr
    assert _lines(done.stdout) == [f"[{r}] mine {r}" for r in range(3)]


def test_faulthandler_leaves_javas_signals_alone_in_jep(script: Script) -> None:
    path = script("""
        import faulthandler
        def handlers():
            with open("/proc/self/status") as status:
                return [line for line in status if line.startswith("SigCgt")]
        before = handlers()
        faulthandler.enable()
        faulthandler.disable()
        faulthandler.register(10)
        faulthandler.register(12)
        print(handlers() == before, faulthandler.is_enabled())
        comm.destroy()
    """)
    done = run("jep", "--ranks", "1", path)
    assert done.stdout == "[0] True False\n", done.stderr


def test_faulthandler_in_the_environment_is_refused_in_jep() -> None:
    done = run("jep", "-c", "1", PYTHONFAULTHANDLER="1")
    assert done.returncode == 2
    assert "PYTHONFAULTHANDLER is set" in done.stderr


def test_threads_of_a_rank_are_that_ranks_in_jep(script: Script) -> None:
    path = script("""
        import threading
        def work():
            inner = c.Communicator.from_env()
            y = array.array("f", [comm.rank])
            inner.allreduce(y, y, c.SUM)
            print(inner.rank, y[0])
            inner.destroy()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        comm.destroy()
    """)
    done = run("jep", "--ranks", "3", path)
    assert _lines(done.stdout) == [f"[{r}] {r} 3.0" for r in range(3)], done.stderr


_LOOPS = {
    "plain": "while True: pass",
    "stubborn": "while True:\n try:\n  while True: pass\n except BaseException: pass",
}


@pytest.mark.parametrize(
    ("host", "loop"), [("graalpy", "stubborn"), ("jep", "stubborn"), ("jep", "plain")]
)
def test_a_rank_that_loops_for_ever_is_stopped_at_the_deadline(
    host: str, script: Script, loop: str
) -> None:
    path = script(f"""
        print("begun")
        if comm.rank == 1:
            # The limit counts from later than argv[2]. A loop takes CPU time while it runs.
            time.sleep(max(0, float(sys.argv[1]) - 1 - (time.time() - float(sys.argv[2]))))
            exec({_LOOPS[loop]!r})
        try:
            comm.allreduce(x, x, c.SUM)
        except c.NCCLError as error:
            print("told:", error)
    """)
    limit = 10.0 if host == "graalpy" else 5.0
    while True:
        words = (str(limit), path, str(limit), str(time.time()))
        done = run(host, "--ranks", "2", "--deadline", *words)
        assert done.returncode == 124, done.stderr
        if done.stdout.count("begun") == 2:
            break
        # The limit came while the ranks started; how long that takes depends on the machine.
        limit *= 2
    assert f"rank 1 was not done after {limit} s (the first to fail)" in done.stderr
    (told,) = (line for line in _lines(done.stdout) if " told: " in line)
    assert "rank 1" in told


def test_ranks_that_all_wait_are_stopped_at_the_deadline(script: Script) -> None:
    path = script("""
        try:
            comm.recv(x, 0) if comm.rank == 2 else comm.allreduce(x, x, c.SUM)
        except BaseException as error:
            print(type(error).__name__)
            raise
    """)
    done = run("jep", "--ranks", "3", "--deadline", "10", path)
    assert done.returncode == 124, done.stderr
    assert done.stderr.count("was not done after 10.0 s") == 3
    # They hear of it one after the other: the first one's end may end the others' waits.
    told = [line.split()[1] for line in _lines(done.stdout)]
    assert len(told) == 3
    assert "Late" in told
    assert set(told) <= {"Late", "NCCLError"}


def test_a_rank_that_uses_up_the_heap_is_named_and_its_peers_are_told(script: Script) -> None:
    path = script("""
        kept = []
        while comm.rank == 1:
            kept.append([0] * 4_000_000)
        try:
            comm.allreduce(x, x, c.SUM)
        except c.NCCLError as error:
            print(error)
    """)
    program, *options = command("graalpy", "--ranks", "2", path)
    small = [program, "-Xmx350m", *options]
    done = subprocess.run(small, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1, done.stderr
    assert "rank 1 raised MemoryError" in done.stderr
    (told,) = _lines(done.stdout)
    assert "rank 1 aborted" in told


@pytest.mark.parametrize(
    ("host", "number"),
    [("graalpy", signal.SIGINT), ("jep", signal.SIGINT), ("jep", signal.SIGTERM)],
)
def test_signals_end_all_ranks_at_once(host: str, script: Script, number: signal.Signals) -> None:
    path = script(f"""
        {_MODULE}
        if comm.rank == 0:
            comm.allreduce(x, x, c.SUM)
        while True:
            time.sleep(0.05)
    """)
    process = subprocess.Popen(
        command(host, "--ranks", "2", *_AS_MODULE),
        env={**os.environ, "PYTHONPATH": str(Path(path).parent)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert sorted(process.stdout.readline().rstrip() for _ in range(2)) == _BEGUN
    start = time.monotonic()
    process.send_signal(number)
    assert process.wait(60) == 128 + number
    assert time.monotonic() - start < 10
    process.communicate()


def test_numpy_and_torch_are_reduced_in_place_in_jep(script: Script) -> None:
    path = script("""
        import numpy, torch
        a = numpy.full(5, comm.rank + 1.0)
        t = torch.full((3, 4), comm.rank + 1, dtype=torch.bfloat16)
        before = a.ctypes.data, t.data_ptr()
        comm.allreduce(a, a, c.SUM)
        comm.allreduce(t, t, c.SUM)
        print(a.tolist(), t.tolist()[2], before == (a.ctypes.data, t.data_ptr()))
        comm.destroy()
    """)
    done = run("jep", "--ranks", "3", path)
    assert done.returncode == 0, done.stderr
    expected = f"{[6.0] * 5} {[6.0] * 4} True"
    assert _lines(done.stdout) == [f"[{r}] {expected}" for r in range(3)]


def test_a_single_context_of_graalpy_finds_other_memory_or_says_why_not(script: Script) -> None:
    path = script("""
        import ctypes, java
        for whole, kind in (
            (bytearray(8), "B"),
            ((ctypes.c_ubyte * 8)(), "B"),
            (array.array("i", bytes(32)), "i"),
            ((ctypes.c_int * 8)(), "i"),
        ):
            for first, end in (0, 8), (2, 6), (3, 8):
                size = end - first
                part = memoryview(whole)[first:end] if size < 8 else whole
                sent = array.array(kind, range(11, 11 + size))
                back = array.array(kind, [99] * size)
                for i in range(8):
                    whole[i] = i + 51
                comm.allreduce(sent, part, c.SUM)
                kept = [*range(51, 51 + first), *range(11, 11 + size), *range(51 + end, 59)]
                seen = list(whole)
                comm.allreduce(part, back, c.SUM)
                print(seen == kept, back == sent, seen, type(whole).__name__)
        heap = java.type("java.nio.ByteBuffer").allocate(8)
        direct = memoryview(java.type("java.nio.ByteBuffer").allocateDirect(8))
        y = array.array("B", bytes(8))
        for b in bytes(8), memoryview(heap), direct[2:4]:
            try:
                comm.broadcast(b, y, 0)
            except c.NcclInvalid as error:
                print(error)
        comm.destroy()
    """)
    done = run("graalpy", "--ranks", "1", path)
    assert done.returncode == 0, done.stderr
    *moved, read_only, on_heap, part = done.stdout.splitlines()
    assert len(moved) == 12
    assert all(line.startswith("[0] True True ") for line in moved), moved
    assert "read-only" in read_only
    assert "on the heap" in on_heap
    assert "part of a ByteBuffer" in part


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--host", "ruby", "x.py"], "--host is ruby: it must be graalpy or jep"),
        (["--ranks", "0", "x.py"], "--ranks is 0"),
        (["--ranks"], "something is missing: --ranks"),
        (["--what", "x.py"], "--what is no option"),
        ([], "something is missing: a program"),
    ],
)
def test_a_wrong_command_line_is_a_sentence(words: list[str], sentence: str) -> None:
    done = subprocess.run(
        [*java(), *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert sentence in done.stderr


def test_a_python_without_jep_is_a_sentence(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    words = ["--host", "jep", "--python", str(python), "-c", "1"]
    done = subprocess.run(
        [*java(), *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert "has no package jep; install it there: pip install jep" in done.stderr


def test_a_child_made_by_fork_is_told_in_jep(script: Script) -> None:
    path = script(
        """
        import threading
        child = os.fork()
        if child == 0:
            said = []
            def call():
                try:
                    comm.allreduce(x, x, c.SUM)
                except c.NCCLError as error:
                    said.append("in a child made by fork" in str(error))
            call()
            thread = threading.Thread(target=call)
            thread.start()
            thread.join()
            os._exit(7 if said == [True, True] else 8)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        comm.allreduce(x, x, c.SUM)
        comm.destroy()
        """
    )
    done = run("jep", path)
    assert done.stdout == "[0] 7\n", done.stdout + done.stderr
    assert done.returncode == 0


def test_exit_handlers_of_native_libraries_do_not_hold_up_the_end_in_jep(script: Script) -> None:
    """Those of torch wait for CPython's lock, which a thread may have that Java has stopped."""
    path = script(
        """
        import ctypes
        libc = ctypes.CDLL(None)
        add_handler = getattr(libc, "__cxa_atexit")
        add_handler(libc.pause, None, None)
        libc.printf(b"by C\\n")
        comm.destroy()
        sys.exit(3)
        """
    )
    done = run("jep", path)
    assert done.returncode == 3, done.stderr
    assert done.stdout == "by C\n"
