"""Starting, watching and ending the ranks of a job."""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from jccl.run.store import Store

TIMED_OUT = 124
_REPORT_S = 1.0
_TICK_S = 0.1
_DRAIN_S = 1.0
_LEFTOVER_S = 0.5
_MAX_LINE_BYTES = 65536
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Job:
    """A job to start.

    Attributes:
        command: the command line of every rank.
        nranks: the number of ranks.
        hosts: the number of hosts to simulate; each gets a block of consecutive ranks.
        timeout_s: the time limit of the whole job; None for none.
        grace_s: seconds between terminating and killing.
        prefix: whether lines of output begin with the rank.
        environment: variables beyond the launcher's own.
    """

    command: list[str]
    nranks: int
    hosts: int = 1
    timeout_s: float | None = None
    grace_s: float = 5.0
    prefix: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)


def run_job(job: Job) -> int:
    """Runs the job to its end. Call it in the main thread.

    Returns:
        0, or the status of the first rank that failed; 128 + n after signal n, 124 after timeout_s.

    Raises:
        OSError: the command cannot be started.
    """
    return _Launch(job).run()


def rank_environment(job: Job, rank: int, port: int, store: str) -> dict[str, str]:
    """The environment of one rank."""
    host = rank * job.hosts // job.nranks
    first = -(-host * job.nranks // job.hosts)
    behind = -(-(host + 1) * job.nranks // job.hosts)
    environment = {
        **os.environ,
        "PYTHONUNBUFFERED": os.environ.get("PYTHONUNBUFFERED", "1"),
        "RANK": str(rank),
        "WORLD_SIZE": str(job.nranks),
        "LOCAL_RANK": str(rank - first),
        "LOCAL_WORLD_SIZE": str(behind - first),
        "NODE_RANK": str(host),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "JCCL_STORE": store,
        **job.environment,
    }
    if job.hosts > 1:
        environment["NCCL_HOSTID"] = f"jccl-run-host-{host}"
    return environment


def exit_code(pid: int) -> int | None:
    """How a child has ended, as in Popen.returncode; None while it runs.

    The child stays a zombie, so that the system cannot reuse its number, which is also that of its
    process group, before the group has been ended.
    """
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if ended is None:
        return None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _die_with(launcher: int) -> Callable[[], None]:
    """What a rank calls before exec: it must not survive its launcher, even if that is killed."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def before_exec() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != launcher:
            os._exit(1)

    return before_exec


def _living_groups() -> Iterator[int]:
    """The process groups of all processes that are not zombies."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                fields = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()
                if fields[0] != "Z":
                    yield int(fields[2])


class _Lines:
    """One output of one rank: passes whole lines on with a prefix."""

    def __init__(self, source: IO[bytes], sink: IO[bytes], prefix: bytes) -> None:
        self.source = source
        self._sink = sink
        self._prefix = prefix
        self._rest = b""

    def read(self) -> bool:
        """Passes on what has arrived; False at the end of the stream."""
        received = os.read(self.source.fileno(), _MAX_LINE_BYTES)
        *lines, self._rest = (self._rest + received).split(b"\n")
        if self._rest and (not received or len(self._rest) >= _MAX_LINE_BYTES):
            lines.append(self._rest)
            self._rest = b""
        with contextlib.suppress(BrokenPipeError):
            self._sink.write(b"".join(self._prefix + line + b"\n" for line in lines))
            self._sink.flush()
        return bool(received)


class _Launch:
    def __init__(self, job: Job) -> None:
        self._job = job
        self._selector = selectors.DefaultSelector()
        self._store = Store(self._selector)
        self._ranks: list[subprocess.Popen[bytes]] = []
        self._open_outputs = 0
        self._status = 0
        # Monotonic times at which ranks that still run are terminated or killed; None: not planned.
        self._terminate_at: float | None = None
        self._kill_at: float | None = None
        self._interrupts = 0
        self._without_ids = False
        self._deadline: float | None = None
        if job.timeout_s is not None:
            self._deadline = time.monotonic() + job.timeout_s

    def run(self) -> int:
        before = {
            number: signal.signal(number, self._pass_on)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        }
        try:
            self._start()
            self._watch()
        finally:
            self._end_groups()
            self._store.close()
            for number, handler in before.items():
                signal.signal(number, handler)
        return self._status

    def _start(self) -> None:
        port = _free_port()
        before_exec = _die_with(os.getpid())
        for rank in range(self._job.nranks):
            if self._is_ending():
                # The ranks that have been started would wait for the others.
                return
            process = subprocess.Popen(
                self._job.command,
                env=rank_environment(self._job, rank, port, self._store.name),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                preexec_fn=before_exec,
            )
            self._ranks.append(process)
            prefix = f"[{rank}] ".encode() if self._job.prefix else b""
            for source, sink in (
                (process.stdout, sys.stdout.buffer),
                (process.stderr, sys.stderr.buffer),
            ):
                assert source is not None
                lines = _Lines(source, sink, prefix)
                self._selector.register(
                    source, selectors.EVENT_READ, lambda lines=lines: self._output(lines)
                )
                self._open_outputs += 1

    def _is_ending(self) -> bool:
        """Whether the user, or the time limit, ends the job before all ranks have been started."""
        late = self._deadline is not None and time.monotonic() >= self._deadline
        return self._interrupts > 0 or (late and bool(self._ranks))

    def _output(self, lines: _Lines) -> None:
        if not lines.read():
            self._selector.unregister(lines.source)
            lines.source.close()
            self._open_outputs -= 1

    def _watch(self) -> None:
        drained_at: float | None = None
        ended: set[int] = set()
        while True:
            for key, _ in self._selector.select(_TICK_S):
                key.data()
            now = time.monotonic()
            for rank, process in enumerate(self._ranks):
                code = None if rank in ended else exit_code(process.pid)
                if code is not None:
                    ended.add(rank)
                    self._ended(rank, code, now)
            if 0 in ended and not self._without_ids:
                self._end_ids()
            if len(ended) == len(self._ranks):
                # A rank's own children may hold its outputs open: wait for them only a moment.
                drained_at = drained_at or now + _DRAIN_S
                if self._open_outputs == 0 or now >= drained_at:
                    return
            late = self._deadline is not None and now >= self._deadline
            if late and self._kill_at is None:
                self._say(f"no end after {self._job.timeout_s:g} s: ending all ranks")
                self._status = self._status or TIMED_OUT
                self._deadline, self._terminate_at = None, now
            self._end_by_plan(now)

    def _end_ids(self) -> None:
        """Refuses ids, unless a process that rank 0 has started may make some."""
        self._without_ids = self._ranks[0].pid not in _living_groups()
        if self._without_ids:
            self._store.end_ids("rank 0 has ended, and makes no more ids")

    def _ended(self, rank: int, code: int, now: float) -> None:
        if code == 0:
            return
        status = code if code > 0 else 128 - code
        reason = f"ended with status {code}"
        if code < 0:
            reason = f"was ended by {signal.Signals(-code).name}"
        if self._status == 0:
            self._status = status
            if self._interrupts == 0:
                self._say(f"rank {rank} {reason}")
            if self._terminate_at is None and self._kill_at is None:
                self._terminate_at = now + _REPORT_S

    def _end_by_plan(self, now: float) -> None:
        if self._terminate_at is not None and now >= self._terminate_at:
            self._terminate_at, self._kill_at = None, now + self._job.grace_s
            self._signal(signal.SIGTERM)
        if self._kill_at is not None and now >= self._kill_at:
            self._kill_at = now + self._job.grace_s
            self._signal(signal.SIGKILL)

    def _pass_on(self, number: int, _frame: Any) -> None:
        self._interrupts += 1
        self._status = self._status or 128 + number
        if self._interrupts > 1:
            self._signal(signal.SIGKILL)
            return
        self._signal(signal.Signals(number))
        self._terminate_at = time.monotonic() + self._job.grace_s

    def _signal(self, number: signal.Signals) -> None:
        for process in self._ranks:
            if exit_code(process.pid) is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, number)

    def _end_groups(self) -> None:
        """Ends what is left in the ranks' process groups, then releases the groups' numbers."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            for process in self._ranks:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, number)
            end = time.monotonic() + _LEFTOVER_S
            while self._anything_left() and time.monotonic() < end:
                time.sleep(_TICK_S / 10)
        for process in self._ranks:
            process.wait()

    def _anything_left(self) -> bool:
        groups = {process.pid for process in self._ranks}
        return any(group in groups for group in _living_groups())

    def _say(self, sentence: str) -> None:
        print(f"[jccl.run] {sentence}", file=sys.stderr, flush=True)
