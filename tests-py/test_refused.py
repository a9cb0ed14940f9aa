"""JCCL where the system, or the filter of a container, refuses calls that it would like to make."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import cprogram
import pytest
from guest import LIMIT_S, START, python
from test_kill import REPORT_S, stolen_s

PIDFD_OPEN = 434
RANK = """
rank, file = int(sys.argv[1]), sys.argv[2]

def comm_of_two(name):
    if rank == 0:
        with open(file + name + ".new", "wb") as out:
            out.write(bytes(nccl.get_unique_id()))
        os.rename(file + name + ".new", file + name)
    while not os.path.exists(file + name):
        time.sleep(0.01)
    with open(file + name, "rb") as held:
        return nccl.Communicator.init(2, rank, nccl.UniqueId.from_bytes(held.read()))

def until_failure(comm):
    data = np.ones(1 << 10, np.float32)
    try:
        while True:
            comm.allreduce(data, data, nccl.MAX)
    except nccl.NCCLError as error:
        print("failed", time.monotonic(), error.code, error.detail, flush=True)
        os._exit(0)
"""


@contextmanager
def _ranks(error: int, folder: Path, code: str) -> Iterator[list[subprocess.Popen[str]]]:
    """Two ranks for which pidfd_open fails with this error."""
    refuse = cprogram.program("refuse.c")
    program = START + RANK + textwrap.dedent(code)
    command = [str(refuse), str(PIDFD_OPEN), str(error), sys.executable, "-c", program]
    ranks = [
        subprocess.Popen(
            [*command, str(rank), str(folder / "id")],
            env={**os.environ, "NCCL_DEBUG": "WARN", "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        yield ranks
    finally:
        for rank in ranks:
            rank.kill()
            rank.communicate()


def _lines(rank: subprocess.Popen[str], last: str) -> list[str]:
    """The rank's output, up to a line that begins with this."""
    assert rank.stdout is not None
    lines = []
    for line in rank.stdout:
        lines.append(line)
        if line.startswith(last):
            return lines
    raise AssertionError(f"status {rank.wait()}: {''.join(lines)}")


@pytest.mark.parametrize("waited_for", [False, True])
@pytest.mark.parametrize("error", [errno.ENOSYS, errno.EPERM])
def test_a_death_is_known_where_pidfd_open_is_refused(
    error: int, waited_for: bool, tmp_path: Path
) -> None:
    code = """
    comms = [comm_of_two("a"), comm_of_two("b")]
    for comm in comms:
        x = np.ones(5, np.float32)
        comm.allreduce(x, x, nccl.SUM)
        assert (x == 2).all()
    print("running", flush=True)
    until_failure(comms[0])
    """
    with _ranks(error, tmp_path, code) as (survivor, victim):
        before = _lines(survivor, "running") + _lines(victim, "running")
        time.sleep(0.2)
        killed, stolen = time.monotonic(), stolen_s()
        victim.send_signal(signal.SIGKILL)
        if waited_for:
            victim.wait()
        after = _lines(survivor, "failed")
        _, at, result, said = after[-1].split(maxsplit=3)
        assert (result, said[:14]) == ("6", "rank 1 is lost"), said
        assert float(at) - killed < REPORT_S + stolen_s() - stolen
        # On a crowded machine the log may come behind what the program prints.
        everything = "".join(before + after + _rest(survivor) + _rest(victim))
        refused = f"NCCL WARN the system refuses pidfd_open ({_errno_text(error)})"
        assert everything.count(refused) == 2, everything


def _rest(rank: subprocess.Popen[str]) -> list[str]:
    assert rank.stdout is not None
    return rank.stdout.readlines()


def _errno_text(error: int) -> str:
    """The text of an error as JCCL's sentences write it."""
    return f"{os.strerror(error)} (errno {error})"


def test_a_process_whose_first_thread_has_ended_is_not_dead(tmp_path: Path) -> None:
    code = """
    comm = comm_of_two("a")
    def work():
        x = np.ones(5, np.float32)
        if rank == 1:
            while open("/proc/self/stat").read().rpartition(")")[2].split()[0] != "Z":
                time.sleep(0.01)
            time.sleep(1)
        for _ in range(3):
            comm.allreduce(x, x, nccl.MAX)
        print("content", flush=True)
        os._exit(0)
    threading.Thread(target=work).start()
    if rank == 1:
        ctypes.CDLL(None).pthread_exit(None)
    """
    with _ranks(errno.ENOSYS, tmp_path, code) as ranks:
        for rank in ranks:
            output, _ = rank.communicate(timeout=LIMIT_S)
            assert output.endswith("content\n"), output


def test_a_limit_of_files_is_an_error_and_no_signal() -> None:
    code = """
    import resource
    # Python ignores it, C programs do not.
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    one_rank().destroy()
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    try:
        one_rank()
    except nccl.NCCLError as error:
        print(error)
    """
    said = python(code)
    assert "SystemError (2)" in said, said
    assert "may make files of 1000 bytes, RLIMIT_FSIZE: raise it with ulimit -f" in said, said
