"""Ranks for tests: processes, and threads in them, with a deadline.

    def sums(rank: Rank) -> float: ...           # a function of a test module

    values = run_ranks(sums, 4, hosts=2)          # or Cluster, to kill and stop ranks on the way

A rank's function runs in a process of its own, or beside others of its process as a thread
(``threads``). When the deadline passes, every rank's stacks are dumped into its log, all logs are
shown and the processes are killed.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import os
import pickle
import selectors
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from jccl.core import Communicator, NCCLConfig, UniqueId, get_unique_id
from jccl.core.errors import NCCLError
from jccl.core.rendezvous import _ask
from jccl.run.launcher import exit_code
from jccl.run.store import Store

DEADLINE_S = float(os.environ.get("JCCL_TEST_DEADLINE") or 120)
TESTS = Path(__file__).parent
NET = {"NCCL_SHM_DISABLE": "1", "NCCL_P2P_DISABLE": "1"}
_DUMP_S = 2.0

# Processes that clusters have started so far; for checks of what they leave behind.
started: list[int] = []
_TICK_S = 0.02


@dataclass
class Rank:
    """What a rank's function gets.

    Attributes:
        rank: its number.
        nranks: how many there are.
    """

    rank: int
    nranks: int

    def put(self, key: str, value: object = None) -> None:
        """Makes a value visible to the other ranks and to ``Cluster.wait_for``."""
        _ask(f"PUT {key} {pickle.dumps(value).hex()}\n")

    def get(self, key: str) -> Any:
        """The value under ``key``, as soon as there is one."""
        return pickle.loads(bytes.fromhex(_ask(f"GET {key}\n")))

    def unique_id(self, name: str = "world") -> UniqueId:
        """The same new id on all ranks that name it alike; rank 0 makes it."""
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
    """The communicator when nothing of it is in progress any more.

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


def announce_blocked(rank: Rank, key: str = "blocked") -> None:
    """Puts ``key`` once the calling thread has been inside the library for a while."""
    caller = threading.get_ident()
    core = os.path.dirname(sys.modules[Communicator.__module__].__file__ or "")

    def watch() -> None:
        inside = 0
        while inside < 10:
            time.sleep(0.05)
            frame = sys._current_frames()[caller]
            inside = inside + 1 if frame.f_code.co_filename.startswith(core) else 0
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


@dataclass
class _Process:
    popen: subprocess.Popen[bytes]
    ranks: list[int]
    log: Path
    answers: int
    received: bytearray = field(default_factory=bytearray)
    finished: bool = False


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
    ) -> None:
        """Prepares ``nranks`` ranks, ``threads`` of them in each process, on ``hosts`` hosts."""
        self.nranks = nranks
        self._threads = threads
        self._hosts = hosts
        self._environment = environment or {}
        self._deadline = time.monotonic() + deadline_s
        self._deadline_s = deadline_s
        self._selector = selectors.DefaultSelector()
        self._store = Store(self._selector)
        self._processes: list[_Process] = []
        self._outcomes: dict[int, Outcome] = {}
        self._directory = tempfile.TemporaryDirectory(prefix="jccl-test-")

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
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.popen.pid, signal.SIGKILL)
            process.popen.wait()  # not before: its number must stay its group's until then
            if not process.finished:
                self._selector.unregister(process.answers)
                os.close(process.answers)
        self._store.close()
        self._selector.close()
        self._directory.cleanup()

    def start(self, function: Callable[..., Any], *args: Any) -> Cluster:
        """Starts ``function(rank, *args)`` on every rank."""
        for first in range(0, self.nranks, self._threads):
            self._spawn(list(range(first, min(first + self._threads, self.nranks))), function, args)
        return self

    def _spawn(self, ranks: list[int], function: Callable[..., Any], args: Any) -> None:
        reading, writing = os.pipe()
        spec = (function.__module__, function.__qualname__, args, ranks, self.nranks, writing)
        log = Path(self._directory.name, f"rank-{ranks[0]}.log")
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]),
            "PYTHONUNBUFFERED": "1",
            "JCCL_STORE": self._store.name,
            "RANK": str(ranks[0]),
            "WORLD_SIZE": str(self.nranks),
            **self._environment,
        }
        if self._hosts > 1:
            environment["NCCL_HOSTID"] = f"host-{ranks[0] * self._hosts // self.nranks}"
        with log.open("wb") as output:
            popen = subprocess.Popen(
                [sys.executable, "-c", "import harness; harness.rank_main()"],
                env={**environment, "JCCL_TEST_RANKS": pickle.dumps(spec).hex()},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=(writing,),
                start_new_session=True,
            )
        os.close(writing)
        started.append(popen.pid)
        process = _Process(popen, ranks, log, reading)
        self._processes.append(process)
        self._selector.register(reading, selectors.EVENT_READ, lambda: self._read(process))

    def _read(self, process: _Process) -> None:
        received = os.read(process.answers, 1 << 20)
        process.received += received
        while len(process.received) >= 8:
            (length,) = struct.unpack_from("<Q", process.received)
            if len(process.received) < 8 + length:
                break
            rank, outcome = pickle.loads(process.received[8 : 8 + length])
            del process.received[: 8 + length]
            self._outcomes[rank] = outcome
        if not received:
            process.finished = True
            self._selector.unregister(process.answers)
            os.close(process.answers)
            os.waitid(os.P_PID, process.popen.pid, os.WEXITED | os.WNOWAIT)
            for rank in process.ranks:
                if rank not in self._outcomes:
                    status = exit_code(process.popen.pid)
                    self._outcomes[rank] = Outcome(
                        error=f"rank {rank} ended with status {status} and no answer",
                        seconds=time.monotonic(),
                        died=True,
                    )

    def _progress(self) -> None:
        for key, _ in self._selector.select(_TICK_S):
            key.data()
        if time.monotonic() > self._deadline:
            self._dump()
            raise TimeoutError(f"not done after {self._deadline_s:g} s")

    def _dump(self) -> None:
        for process in self._processes:
            if exit_code(process.popen.pid) is None:
                for number in (signal.SIGCONT, signal.SIGUSR1):
                    os.kill(process.popen.pid, number)
        time.sleep(_DUMP_S)

    def wait_for(self, *keys: str) -> list[Any]:
        """Waits until the ranks have put these keys and returns their values."""
        while missing := [key for key in keys if self._store.get(key) is None]:
            running = not all(process.finished for process in self._processes)
            assert running, f"all ranks ended without {missing}"
            self._progress()
        return [pickle.loads(bytes.fromhex(self._store.get(key) or "")) for key in keys]

    def put(self, key: str, value: object = None) -> None:
        """Gives the ranks a value; they ``get`` it."""
        self._store.put(key, pickle.dumps(value).hex())

    def join(self) -> list[Outcome]:
        """Waits for the end of all ranks; outcomes by rank."""
        while not all(process.finished for process in self._processes):
            self._progress()
        return [self._outcomes[rank] for rank in range(self.nranks)]

    def values(self) -> list[Any]:
        """Waits for the end of all ranks, none of which may fail; values by rank."""
        outcomes = self.join()
        failures = [f"rank {r}:\n{o.error}" for r, o in enumerate(outcomes) if o.error]
        assert not failures, "\n".join(failures)
        return [outcome.value for outcome in outcomes]

    def signal(self, rank: int, number: int) -> None:
        """Sends a signal to a rank's process."""
        os.kill(self.pid(rank), number)

    def pid(self, rank: int) -> int:
        """The process of a rank."""
        return self._process_of(rank).popen.pid

    def status(self, rank: int) -> int | None:
        """The exit status of a rank's process."""
        return exit_code(self._process_of(rank).popen.pid)

    def logs(self) -> str:
        """Everything that the ranks printed."""
        texts = []
        for process in self._processes:
            names = ", ".join(map(str, process.ranks))
            texts.append(f"--- rank {names}\n{process.log.read_text(errors='replace')}")
        return "\n".join(texts)

    def _process_of(self, rank: int) -> _Process:
        return next(process for process in self._processes if rank in process.ranks)


def run_ranks(function: Callable[..., Any], nranks: int, *args: Any, **options: Any) -> list[Any]:
    """Runs ``function(rank, *args)`` on every rank of a Cluster; the values by rank."""
    with Cluster(nranks, **options) as cluster:
        return cluster.start(function, *args).values()


def rank_main() -> None:
    """The process of one or several ranks."""
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    spec = pickle.loads(bytes.fromhex(os.environ.pop("JCCL_TEST_RANKS")))
    module, name, args, ranks, nranks, answers = spec
    os.set_inheritable(answers, False)
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
        content = pickle.dumps((rank, outcome))
        with lock, os.fdopen(os.dup(answers), "wb") as pipe:
            pipe.write(struct.pack("<Q", len(content)) + content)

    others = [threading.Thread(target=run, args=(rank,)) for rank in ranks[1:]]
    for thread in others:
        thread.start()
    run(ranks[0])
    for thread in others:
        thread.join()
