"""Ranks for tests: processes, and threads in them, with a deadline.

    def sums(rank: Rank) -> float: ...           # a function of a test module

    values = run_ranks(sums, 4, hosts=2)          # or Cluster, to kill and stop ranks on the way

A rank's function runs in a process of its own, or beside others of its process as a thread
(``threads``). Processes that have run their ranks to the end serve the next ``run_ranks`` with the
same environment: a Python with a JVM takes a second to start. When the deadline passes, every
rank's stacks are dumped into its log, all logs are shown and the processes are killed.
"""

from __future__ import annotations

import atexit
import faulthandler
import functools
import importlib
import os
import pickle
import selectors
import signal
import struct
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, TracebackType
from typing import Any, NoReturn

import jccl
import zygote
from jccl.core import Communicator, NCCLConfig, UniqueId, get_unique_id
from jccl.core.errors import NCCLError
from jccl.core.rendezvous import _ask
from jccl.run.store import Store

DEADLINE_S = float(os.environ.get("JCCL_TEST_DEADLINE") or 600)
TESTS = Path(__file__).parent
NET = {"NCCL_SHM_DISABLE": "1", "NCCL_P2P_DISABLE": "1"}
_DUMP_S = 2.0

# Processes that clusters have started so far; for checks of what they leave behind.
started: list[int] = []
_TICK_S = 0.02


@dataclass
class Rank:
    """A rank, as its function sees it.

    Attributes:
        rank: its number.
        nranks: how many there are.
    """

    rank: int
    nranks: int
    _ids: set[str] = field(default_factory=set)

    def put(self, key: str, value: object = None) -> None:
        """Makes a value visible to the other ranks and to ``Cluster.wait_for``."""
        _ask(f"PUT {key} {pickle.dumps(value).hex()}\n")

    def get(self, key: str) -> Any:
        """The value under ``key``, as soon as there is one."""
        return pickle.loads(bytes.fromhex(_ask(f"GET {key}\n")))

    def unique_id(self, name: str = "world") -> UniqueId:
        """An id that rank 0 makes, the same on all ranks that pass the name; a name serves once."""
        assert name not in self._ids, f"the id {name} was used before; name another"
        self._ids.add(name)
        if self.rank == 0:
            unique_id = get_unique_id()
            self.put(f"id/{name}", bytes(unique_id))
            return unique_id
        return UniqueId.from_bytes(self.get(f"id/{name}"))

    def comm(self, config: NCCLConfig | None = None, name: str = "world") -> Communicator:
        """The communicator of all ranks."""
        return Communicator.init(self.nranks, self.rank, self.unique_id(name), config)

    def meet(self, name: str) -> None:
        """A barrier that needs no communicator; each name serves once."""
        self.put(f"meet/{name}/{self.rank}")
        for other in range(self.nranks):
            self.get(f"meet/{name}/{other}")


def settled(comm: Communicator, limit_s: float = DEADLINE_S) -> Communicator:
    """Waits until nothing of the communicator is in progress, and returns it.

    Raises:
        NCCLError: with the state, if it is an error.
    """
    end = time.monotonic() + limit_s
    while (state := comm.get_async_error()) == 7:
        assert time.monotonic() < end, f"still in progress after {limit_s} s"
        time.sleep(0.001)
    if state:
        raise NCCLError(state, comm.get_last_error())
    return comm


def in_library(code: CodeType) -> bool:
    """Whether the code is the Python package's."""
    return code.co_filename.startswith(os.path.join(os.path.dirname(jccl.__file__), ""))


def announce_blocked(
    rank: Rank, key: str = "blocked", inside: Callable[[CodeType], bool] = in_library
) -> None:
    """Puts ``key`` once the calling thread has been inside the library for a while.

    ``inside`` says whether the code that the thread runs is a call of the library.
    """
    caller = threading.get_ident()

    def watch() -> None:
        seen = 0
        while seen < 10:
            time.sleep(0.05)
            frame = sys._current_frames()[caller]
            seen = seen + 1 if inside(frame.f_code) else 0
        rank.put(key)

    threading.Thread(target=watch, daemon=True).start()


@dataclass
class Outcome:
    """How a rank's function ended.

    Attributes:
        value: what it returned.
        error: the trace of what it raised, empty if it returned.
        kind: the class of what it raised.
        code: the result code, if that was an NCCLError.
        detail: the library's sentence, if that was an NCCLError.
        seconds: monotonic time at which it ended.
        died: whether its process ended without an answer.
    """

    value: Any = None
    error: str = ""
    kind: str = ""
    code: int = 0
    detail: str = ""
    seconds: float = 0.0
    died: bool = False


class _Process:
    """A process of ranks; it takes jobs from one pipe and answers on another."""

    def __init__(self, key: object, environment: dict[str, str], modules: Iterable[str]) -> None:
        jobs, self._jobs = os.pipe()
        self.answers, writing = os.pipe()
        self.key = key
        self.ranks: list[int] = []
        self.idle = True
        self.finished = False
        self.tainted = False
        self._received = bytearray()
        self._log = Path(_logs().name, f"{len(started)}.log")
        self._logged = 0
        with self._log.open("wb") as output:
            fds = [jobs, writing, output.fileno()]
            self.child = zygote.fork("harness:rank_main", fds, environment, modules)
        os.close(jobs)
        os.close(writing)
        started.append(self.child.pid)

    def run(self, ranks: list[int], job: object) -> None:
        self.ranks = ranks
        self.idle = False
        self._logged = self._log.stat().st_size
        _send(self._jobs, job)

    def read(self) -> list[tuple[int, Outcome]]:
        """The answers that have come; sets ``idle`` and ``finished``."""
        received = os.read(self.answers, 1 << 20)
        self.finished = not received
        self._received += received
        answers = []
        while len(self._received) >= 8:
            (length,) = struct.unpack_from("<Q", self._received)
            if len(self._received) < 8 + length:
                break
            answer = pickle.loads(self._received[8 : 8 + length])
            del self._received[: 8 + length]
            if answer is None:
                self.idle = True
            else:
                answers.append(answer)
        return answers

    def log(self) -> str:
        return self._log.read_bytes()[self._logged :].decode(errors="replace")

    def end(self) -> None:
        """Kills the process and what it has started."""
        self.child.kill()
        os.close(self._jobs)
        os.close(self.answers)


_MAX_IDLE = 8
_idle: list[_Process] = []


@functools.cache
def _logs() -> tempfile.TemporaryDirectory[str]:
    """Made only in processes that start ranks: a rank that is killed could not remove it."""
    return tempfile.TemporaryDirectory(prefix="jccl-test-logs-")


def _lend(key: object) -> _Process | None:
    """An idle process with this environment; the one used last comes first."""
    for process in _idle[::-1]:
        if process.key == key:
            _idle.remove(process)
            if process.child.status() is None:
                return process
            process.end()
    return None


def _give_back(process: _Process) -> None:
    _idle.append(process)
    if len(_idle) > _MAX_IDLE:
        _idle.pop(0).end()


@atexit.register
def _end_idle() -> None:
    while _idle:
        _idle.pop().end()


def _send(fd: int, content: object) -> None:
    pickled = pickle.dumps(content)
    with os.fdopen(os.dup(fd), "wb") as pipe:
        pipe.write(struct.pack("<Q", len(pickled)) + pickled)


class Cluster:
    """Ranks of one test."""

    def __init__(
        self,
        nranks: int,
        *,
        threads: int = 1,
        hosts: int = 1,
        environment: dict[str, str] | None = None,
        deadline_s: float = DEADLINE_S,
        fresh: bool = True,
    ) -> None:
        """Prepares ``nranks`` ranks, ``threads`` of them in each process, on ``hosts`` hosts.

        ``fresh`` processes are new and end by themselves, as programs do; others serve again.
        """
        self.nranks = nranks
        self._threads = threads
        self._hosts = hosts
        self._environment = environment or {}
        self.deadline_in(deadline_s)
        self._selector = selectors.DefaultSelector()
        self._store = Store(self._selector)
        self._processes: list[_Process] = []
        self._outcomes: dict[int, Outcome] = {}
        self._fresh = fresh

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            print(self.logs(), file=sys.stderr)
        for process in self._processes:
            if not process.finished:
                self._selector.unregister(process.answers)
            if process.idle and kind is None and not process.finished and not process.tainted:
                _give_back(process)
            else:
                process.end()
        self._store.close()
        self._selector.close()

    def start(self, function: Callable[..., Any], *args: Any) -> Cluster:
        """Starts ``function(rank, *args)`` on every rank."""
        for first in range(0, self.nranks, self._threads):
            self._spawn(list(range(first, min(first + self._threads, self.nranks))), function, args)
        return self

    def _spawn(self, ranks: list[int], function: Callable[..., Any], args: Any) -> None:
        variables = {
            "JCCL_STORE": self._store.name,
            "RANK": str(ranks[0]),
            "WORLD_SIZE": str(self.nranks),
        }
        own = dict(self._environment)
        if self._hosts > 1:
            own["NCCL_HOSTID"] = f"host-{ranks[0] * self._hosts // self.nranks}"
        process = None if self._fresh else _lend(own)
        if process is None:
            modules = vars(sys.modules[function.__module__])
            process = _Process(own, {**os.environ, **variables, **own}, modules)
        self._processes.append(process)
        self._selector.register(process.answers, selectors.EVENT_READ, lambda: self._read(process))
        job = (function.__module__, function.__qualname__, args, ranks, self.nranks)
        process.run(ranks, (self._fresh, variables, job))

    def _read(self, process: _Process) -> None:
        for rank, outcome in process.read():
            self._outcomes[rank] = outcome
        if process.finished:
            self._selector.unregister(process.answers)
            status = process.child.wait(self._deadline - time.monotonic())
            if status is None:
                self._give_up()
            for rank in process.ranks:
                if rank not in self._outcomes:
                    self._outcomes[rank] = Outcome(
                        error=f"rank {rank} ended with status {status} and no answer",
                        seconds=time.monotonic(),
                        died=True,
                    )

    def _progress(self) -> None:
        for key, _ in self._selector.select(_TICK_S):
            key.data()
        if time.monotonic() > self._deadline:
            self._give_up()

    def deadline_in(self, seconds: float) -> None:
        """Sets the deadline: these seconds from now."""
        self._deadline = time.monotonic() + seconds
        self._deadline_s = seconds

    def _give_up(self) -> NoReturn:
        self._dump()
        ended = [f"\nrank {r} had failed:\n{o.error}" for r, o in self._outcomes.items() if o.error]
        raise TimeoutError(f"not done after {self._deadline_s:g} s{''.join(ended)}")

    def _dump(self) -> None:
        for process in self._processes:
            if process.child.status() is None:
                for number in (signal.SIGCONT, signal.SIGUSR1):
                    os.kill(process.child.pid, number)
        time.sleep(_DUMP_S)

    def wait_for(self, *keys: str) -> list[Any]:
        """Waits until the ranks have put these keys and returns their values."""
        while missing := [key for key in keys if self._store.get(key) is None]:
            running = not all(process.finished or process.idle for process in self._processes)
            assert running, f"all ranks ended without {missing}"
            self._progress()
        return [pickle.loads(bytes.fromhex(self._store.get(key) or "")) for key in keys]

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Waits until a condition outside of the ranks is true."""
        while not condition():
            self._progress()

    def put(self, key: str, value: object = None) -> None:
        """Gives the ranks a value; they ``get`` it."""
        self._store.put(key, pickle.dumps(value).hex())

    def join(self) -> list[Outcome]:
        """Waits for the end of all ranks; returns the outcomes by rank."""
        while not all(process.finished or process.idle for process in self._processes):
            self._progress()
        return [self._outcomes[rank] for rank in range(self.nranks)]

    def values(self) -> list[Any]:
        """Waits for the end of all ranks, none of which may fail; returns the values by rank."""
        outcomes = self.join()
        failures = [f"rank {r}:\n{o.error}" for r, o in enumerate(outcomes) if o.error]
        assert not failures, "\n".join(failures)
        return [outcome.value for outcome in outcomes]

    def signal(self, rank: int, number: int) -> None:
        """Sends a signal to a rank's process."""
        self._process_of(rank).tainted = True
        os.kill(self.pid(rank), number)

    def pid(self, rank: int) -> int:
        """The process of a rank."""
        return self._process_of(rank).child.pid

    def status(self, rank: int) -> int | None:
        """The exit status of a rank's process."""
        return self._process_of(rank).child.status()

    def logs(self) -> str:
        """Everything that the ranks printed."""
        texts = []
        for process in self._processes:
            names = ", ".join(map(str, process.ranks))
            texts.append(f"--- rank {names}\n{process.log()}")
        return "\n".join(texts)

    def _process_of(self, rank: int) -> _Process:
        return next(process for process in self._processes if rank in process.ranks)


def run_ranks(function: Callable[..., Any], nranks: int, *args: Any, **options: Any) -> list[Any]:
    """Runs ``function(rank, *args)`` on every rank of a Cluster; returns the values by rank."""
    with Cluster(nranks, **{"fresh": False, **options}) as cluster:
        return cluster.start(function, *args).values()


def rank_main(jobs: int, answers: int) -> None:
    """The process of one or several ranks, job after job."""
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    for fd in (jobs, answers):
        os.set_inheritable(fd, False)
    with os.fdopen(jobs, "rb") as pipe:
        while header := pipe.read(8):
            last, variables, job = pickle.loads(pipe.read(struct.unpack("<Q", header)[0]))
            os.environ.update(variables)
            _run_job(answers, *job)
            if last:
                return
            _send(answers, None)


def _run_job(
    answers: int, module: str, name: str, args: Any, ranks: list[int], nranks: int
) -> None:
    function = getattr(importlib.import_module(module), name)
    lock = threading.Lock()

    def run(rank: int) -> None:
        outcome = Outcome()
        try:
            outcome.value = function(Rank(rank, nranks), *args)
        except BaseException as error:
            outcome.error = traceback.format_exc()
            outcome.kind = type(error).__name__
            if isinstance(error, NCCLError):
                outcome.code, outcome.detail = error.code, error.detail
        outcome.seconds = time.monotonic()
        with lock:
            _send(answers, (rank, outcome))

    others = [threading.Thread(target=run, args=(rank,)) for rank in ranks[1:]]
    for thread in others:
        thread.start()
    run(ranks[0])
    for thread in others:
        thread.join()
