"""Ranks in Java and in Python that one launcher has started make one communicator."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jccl.bindings
import pytest
from jccl.bindings import load
from jccl.run import Job, run_job

LIMIT_S = 300
LIBRARIES = Path(jccl.bindings.__file__).parent.parent / "_lib"

Script = Callable[[set[int]], str]
#: Which of two ranks are in Java. By the seed: torchrun takes seconds to start.
BY_TORCHRUN = [{1}, {0, 1}]

JAVA = """
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.jccl.Communicator;
import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.RedOp;

class Ranks {
    /** A call that gives no communicator does not count. */
    static void beInterrupted() {
        Thread.currentThread().interrupt();
        try {
            Communicator.fromEnvironment().close();
        } catch (NcclException e) {
            System.out.println("java told " + Thread.interrupted());
        }
    }

    public static void main(String[] args) {
        beInterrupted();
        for (int i = 0; i < 2; i++) {
            try (Communicator comm = Communicator.fromEnvironment();
                    Arena arena = Arena.ofConfined()) {
                MemorySegment sum = arena.allocateFrom(ValueLayout.JAVA_INT, comm.rank());
                comm.allReduce(sum, sum, 1, DataType.INT32, RedOp.SUM);
                int n = comm.count();
                System.out.println("java " + sum.get(ValueLayout.JAVA_INT, 0) + " of " + n);
            }
        }
    }
}
"""

PYTHON = """
import array, os, sys
if int(os.environ["RANK"]) in {java_ranks}:
    os.execv({java!r}, {command!r})
import jccl.core as nccl
# A call that gives no communicator does not count.
kept = os.environ.get("JCCL_STORE")
os.environ["JCCL_STORE"] = "jccl-none"
try:
    nccl.Communicator.from_env()
except nccl.NcclInvalid:
    os.write(1, b"python told\\n")
del os.environ["JCCL_STORE"]
if kept:
    os.environ["JCCL_STORE"] = kept
for i in range(2):
    with nccl.Communicator.from_env() as comm:
        total = array.array("i", [comm.rank])
        comm.allreduce(total, total, nccl.SUM)
        # All ranks of torchrun write to one pipe: print writes a line in parts.
        os.write(1, f"python {{total[0]}} of {{comm.nranks}}\\n".encode())
"""


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The class path of the program in Java, which is compiled once for all ranks."""
    folder = tmp_path_factory.mktemp("classes")
    (folder / "Ranks.java").write_text(JAVA, encoding="utf-8")
    (jar,) = LIBRARIES.glob("jccl-core-*.jar")
    javac = str(Path(load().java_home(), "bin", "javac"))
    command = [javac, "-cp", str(jar), "-d", str(folder), str(folder / "Ranks.java")]
    subprocess.run(command, check=True, timeout=LIMIT_S)
    return f"{jar}{os.pathsep}{folder}"


@pytest.fixture
def script(tmp_path: Path, classes: str) -> Script:
    """Writes a program of which some ranks are in Java."""

    def write(java_ranks: set[int]) -> str:
        java = str(Path(load().java_home(), "bin", "java"))
        command = [java, "--enable-native-access=ALL-UNNAMED", "-cp", classes, "Ranks"]
        path = tmp_path / "mixed.py"
        path.write_text(
            PYTHON.format(java_ranks=java_ranks, java=java, command=command), encoding="utf-8"
        )
        return str(path)

    return write


def count(output: str, language: str, n: int) -> int:
    """How many communicators its ranks had, if each was told of its first call."""
    sums = output.count(f"{language} {n * (n - 1) // 2} of {n}\n")
    assert sums == 2 * output.count(f"{language} told")
    return sums


@pytest.mark.parametrize("java_ranks", [{0, 2}, {1}], ids=str)
def test_ranks_of_jccl_run_are_in_java_and_python(
    script: Script, java_ranks: set[int], capfd: pytest.CaptureFixture[str]
) -> None:
    command = [sys.executable, script(java_ranks)]
    status = run_job(Job(command=command, nranks=3, timeout_s=LIMIT_S))
    output = capfd.readouterr().out
    assert status == 0
    assert count(output, "java", 3) == 2 * len(java_ranks)
    assert count(output, "python", 3) == 2 * (3 - len(java_ranks))


def test_ranks_of_torchrun_are_in_java_and_python(script: Script, seed: int) -> None:
    run_by_torchrun(script, BY_TORCHRUN[seed % 2])


@pytest.mark.stress
@pytest.mark.parametrize("java_ranks", BY_TORCHRUN, ids=str)
def test_ranks_of_torchrun_are_in_java(script: Script, java_ranks: set[int]) -> None:
    run_by_torchrun(script, java_ranks)


def test_ranks_of_torchrun_hand_on_the_id_of_nccl_comm_id(script: Script) -> None:
    """The rank in Python waits for it in the store."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    run_by_torchrun(script, {0}, NCCL_COMM_ID=f"127.0.0.1:{port}")


def run_by_torchrun(script: Script, java_ranks: set[int], **variables: str) -> None:
    pytest.importorskip("torch", reason="torchrun is torch's")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*torchrun, "--standalone", script(java_ranks)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert count(done.stdout, "java", 2) == 2 * len(java_ranks)
    assert count(done.stdout, "python", 2) == 2 * (2 - len(java_ranks))


def test_no_python_runs_any_program(capfd: pytest.CaptureFixture[str]) -> None:
    shell = ["sh", "-c", "echo $RANK of $WORLD_SIZE"]
    command = [sys.executable, "-m", "jccl.run", "-n", "2", "--no-python", *shell]
    done = subprocess.run(command, timeout=LIMIT_S, check=False)
    assert done.returncode == 0
    output = capfd.readouterr().out
    assert "[0] 0 of 2" in output
    assert "[1] 1 of 2" in output


@pytest.mark.parametrize(("program", "status"), [("/nowhere/program", 127), ("/", 126)])
def test_a_program_that_cannot_be_started_is_named(program: str, status: int) -> None:
    command = [sys.executable, "-m", "jccl.run", "-n", "2", "--no-python", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == status
    assert done.stderr.startswith(f"[jccl.run] cannot start {program}: ")
    assert "Traceback" not in done.stderr
