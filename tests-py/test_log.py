"""No call waits for the reader of the log: a full pipe costs lines, which JCCL counts."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cprogram import LIBRARIES
from guest import LIMIT_S, START
from test_kill import stolen_s

ABORT_S = 1.0
#: A line more than fits into a pipe and the queue behind it.
MANY = 6000
LOST = re.compile(r"(\d+) lines of the log are lost before this one\n")

# The findings go to standard error, since the log goes to standard output.
BODY = """
library = ctypes.CDLL(sys.argv[1] + "/libjccl.so")
library.ncclGetLastError.restype = ctypes.c_char_p
many = int(sys.argv[2])
# If the program hangs, this ends it and the test fails.
signal.alarm(100)

def say(*words):
    os.write(2, (" ".join(map(str, words)) + "\\n").encode())

def fails(n):
    # A line at WARN for each.
    for _ in range(n):
        assert library.ncclCommCount(None, None) == 4

def timed(call):
    before = time.monotonic()
    call()
    return time.monotonic() - before
"""


def _start(code: str, stdout: int, environment: dict[str, str]) -> subprocess.Popen[str]:
    program = START + BODY + textwrap.dedent(code)
    return subprocess.Popen(
        [sys.executable, "-c", program, str(LIBRARIES), str(MANY)],
        env={**os.environ, "NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "ALL", **environment},
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
    )


def _answer(process: subprocess.Popen[str], word: str) -> list[str]:
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if line.startswith(word):
            return line.split()[1:]
    raise AssertionError("".join(said))


def _go_on(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


@contextmanager
def _full_pipe() -> Iterator[tuple[int, int]]:
    """Both ends of a pipe that is full."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(writing, False)
    try:
        while True:
            os.write(writing, b"." * 4096)
    except BlockingIOError:
        os.set_blocking(writing, True)
    try:
        yield reading, writing
    finally:
        os.close(reading)
        os.close(writing)


def _drain_until(reading: int, pattern: re.Pattern[str]) -> str:
    """Reads until the pattern comes."""
    text = b""
    os.set_blocking(reading, False)
    end = time.monotonic() + 60
    while not pattern.search(text.decode(errors="replace")):
        assert time.monotonic() < end, text[-2000:]
        try:
            text += os.read(reading, 1 << 16)
        except BlockingIOError:
            time.sleep(0.01)
    return text.decode()


ABORTS = """
comms = nccl.Communicator.init_all(2)
x = np.ones(3)
def waits():
    try:
        comms[0].allreduce(x, x, nccl.SUM)
    except nccl.NCCLError as error:
        say("told", error.code)
# Another thread in the middle of a line must not hold up the abort either.
busy = threading.Thread(target=lambda: fails(many), daemon=True)
busy.start()
blocked = threading.Thread(target=waits)
blocked.start()
time.sleep(0.5)
say("aborted", timed(comms[0].abort), timed(comms[1].abort))
blocked.join()
busy.join()
say("full")
sys.stdin.readline()
fails(1)
comm = one_rank()
say("after")
sys.stdin.readline()
say("destroyed", timed(comm.destroy))
"""


def _aborts_in_time(process: subprocess.Popen[str], stolen: float) -> None:
    took = [float(second) for second in _answer(process, "aborted")]
    assert max(took) < ABORT_S + stolen_s() - stolen, took
    _answer(process, "full")


def test_abort_returns_in_time_when_standard_output_is_full() -> None:
    with _full_pipe() as (reading, writing):
        stolen = stolen_s()
        process = _start(ABORTS, writing, {})
        _aborts_in_time(process, stolen)
        text = _drain_until(reading, LOST)
        _go_on(process)
        _answer(process, "after")
        text += _drain_until(reading, re.compile(r"Init COMPLETE"))
        _go_on(process)
        _answer(process, "destroyed")
        process.communicate(timeout=LIMIT_S)
        os.set_blocking(writing, True)
        text += _drain_until(reading, re.compile("Destroy COMPLETE"))
        lost = [int(n) for n in LOST.findall(text)]
        kept = len(re.findall(r"NCCL WARN CommCount", text.replace("\n", " ")))
        assert kept > 100
        # Some of the lost ones are those of the abort.
        assert MANY + 1 <= sum(lost) + kept <= MANY + 20, (lost, kept)
        assert process.returncode == 0


@pytest.mark.parametrize("reader", ["none", "full"])
def test_a_debug_file_that_takes_nothing_delays_nothing(reader: str, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reading = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK) if reader == "full" else -1
    stolen = stolen_s()
    process = _start(ABORTS, subprocess.DEVNULL, {"NCCL_DEBUG_FILE": str(fifo)})
    _aborts_in_time(process, stolen)
    if reading < 0:
        reading = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    text = _drain_until(reading, LOST)
    assert text.index("Init START") < text.index("Init COMPLETE")
    _go_on(process)
    text = _drain_until(reading, re.compile(r"Init COMPLETE"))
    _go_on(process)
    process.communicate(timeout=LIMIT_S)
    os.close(reading)
    assert process.returncode == 0


def test_a_full_disk_costs_lines_and_nothing_else() -> None:
    process = _start(ABORTS, subprocess.DEVNULL, {"NCCL_DEBUG_FILE": "/dev/full"})
    _aborts_in_time(process, stolen_s())
    _, said = process.communicate("\n\n", timeout=LIMIT_S)
    assert process.returncode == 0, said


@pytest.mark.parametrize("nobody_reads", [True, False])
def test_a_log_that_fails_ends_no_program(nobody_reads: bool, tmp_path: Path) -> None:
    code = """
    import glob, re, resource
    # Python ignores these, C programs do not.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)

    def has_failed():
        # The thread that writes does not take the signals.
        statuses = [open(file).read() for file in glob.glob("/proc/self/task/*/status")]
        pending = [re.search("SigPnd:(.*)", status).group(1) for status in statuses]
        return any(int(bits, 16) >> number - 1 & 1 for bits in pending
                   for number in (signal.SIGPIPE, signal.SIGXFSZ))

    fails(1)
    say("logged")
    sys.stdin.readline()
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    fails(2)
    while not has_failed():
        time.sleep(0.01)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    fails(1)
    say("goes on")
    """
    file = tmp_path / "log"
    reading, writing = os.pipe()
    process = _start(code, writing, {} if nobody_reads else {"NCCL_DEBUG_FILE": str(file)})
    os.close(writing)
    _answer(process, "logged")
    os.close(reading)
    _, said = process.communicate("\n", timeout=LIMIT_S)
    assert (process.returncode, said) == (0, "goes on\n")
    if not nobody_reads:
        text = file.read_text()
        lost = sum(map(int, LOST.findall(text)))
        assert lost > 0
        assert text.count("NCCL WARN CommCount") + lost == 4


def test_warnings_without_java_wait_for_nobody_either() -> None:
    code = """
    def not_done():
        assert library.ncclCommRevoke(None, 0) == 5
    say("refused", timed(lambda: [not_done() for _ in range(100)]))
    # Nor does a thread that was forked away write any more.
    child = os.fork()
    if child == 0:
        say("forked", timed(not_done))
        os._exit(0)
    os.waitpid(child, 0)
    say("reaped")
    sys.stdin.readline()
    not_done()
    assert library.jcclJavaStarted() == 0
    say("over")
    """
    with _full_pipe() as (reading, writing):
        stolen = stolen_s()
        process = _start(code, writing, {})
        for word in ("refused", "forked"):
            took = float(_answer(process, word)[0])
            assert took < ABORT_S + stolen_s() - stolen
        _answer(process, "reaped")
        first = _drain_until(reading, re.compile("NCCL WARN ncclCommRevoke is not done yet .*\n"))
        assert "lost" not in first
        time.sleep(0.2)
        _go_on(process)
        last = _drain_until(reading, re.compile("lost[^\0]*NCCL WARN ncclCommRevoke is not .*\n"))
        assert [int(n) for n in LOST.findall(last)] == [99]
        process.communicate(timeout=LIMIT_S)
        assert process.returncode == 0


def test_no_line_is_missing_where_the_log_can_be_written(tmp_path: Path) -> None:
    file = tmp_path / "log"
    code = """
    fails(many)
    os._exit(3)
    """
    process = _start(code, subprocess.DEVNULL, {"NCCL_DEBUG_FILE": str(file)})
    _, said = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 3, said
    text = file.read_text()
    assert (text.count("NCCL WARN CommCount"), LOST.findall(text)) == (MANY, [])
