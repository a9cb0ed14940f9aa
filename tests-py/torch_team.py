"""Ranks that stay for many tests: each scenario gets a process group of its own.

A scenario is a function of a test module that takes a ``Rank``; it runs on every rank of the
team between init_process_group and destroy_process_group.
"""

from __future__ import annotations

import contextlib
import importlib
import traceback
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import torch
import torch.distributed
from harness import Cluster, Rank
from jccl.core.types import NcclInvalid

# Any: by torch's types most functions may return None, which they do on a rank that is not in the
# group.
dist: Any = torch.distributed
# Both only end what hangs.
LIMIT_S = 600.0
TIMEOUT = timedelta(seconds=300)


def environment(**more: str) -> dict[str, str]:
    """The environment of torch's ranks: one thread for torch's own kernels."""
    return {"OMP_NUM_THREADS": "1", **more}


@contextlib.contextmanager
def joined(
    rank: Rank, name: str, backend: str = "jccl", timeout: timedelta = TIMEOUT, **options: Any
) -> Iterator[None]:
    """The default group, over a store that rank 0 serves.

    Its limit counts from when all ranks have come, since importing torch takes long.
    """
    rank.meet(f"come/{name}")
    if rank.rank == 0:
        store = dist.TCPStore("127.0.0.1", 0, rank.nranks, True, wait_for_workers=False)
        rank.put(f"store/{name}", store.port)
    else:
        store = dist.TCPStore("127.0.0.1", rank.get(f"store/{name}"), rank.nranks, False)
    dist.init_process_group(
        backend, store=store, rank=rank.rank, world_size=rank.nranks, timeout=timeout, **options
    )
    try:
        yield
    finally:
        dist.destroy_process_group()
        # Rank 0 serves the store until nobody needs it.
        rank.meet(f"left/{name}")


def _first(error: BaseException) -> BaseException:
    """The exception that was raised first."""
    while error.__context__ is not None:
        error = error.__context__
    return error


def work(rank: Rank) -> None:
    """The work of a rank of a team: scenario after scenario, until there is none."""
    torch.set_num_threads(1)
    rank.put(f"imported/{rank.rank}")
    number = 0
    while (job := _next_job(rank, number)) is not None:
        module, function, args, options = job
        scenario = getattr(importlib.import_module(module), function)
        try:
            with joined(rank, f"{number}", **options):
                value = scenario(rank, *args)
            answer = ("", value)
        except BaseException as error:
            # The first error and the end of the trace: the store takes 4 KiB for a value, in hex.
            answer = (f"{_first(error)!r}"[:400] + "\n" + traceback.format_exc()[-1100:], None)
        rank.put(f"answer/{number}/{rank.rank}", answer)
        number += 1


def _next_job(rank: Rank, number: int) -> Any:
    """The next scenario, however long the tests in between take."""
    while True:
        try:
            return rank.get(f"job/{number}")
        except NcclInvalid as e:
            if "within" not in str(e):
                raise


class Team:
    """A cluster whose ranks run scenarios one after the other.

    After a scenario that failed or did not end, the next one gets new ranks.
    """

    def __init__(self, nranks: int, **options: Any) -> None:
        self._nranks = nranks
        self._options = options
        self._cluster: Cluster | None = None
        self._jobs = 0

    def run(self, scenario: Callable[..., Any], *args: Any, **options: Any) -> list[Any]:
        """Runs a scenario; returns the values by rank.

        ``options`` are init_process_group's.
        """
        if self._cluster is None:
            self._begin()
        assert self._cluster is not None
        try:
            return self._run(self._cluster, (scenario.__module__, scenario.__name__, args, options))
        except BaseException as e:
            self._leave(e)
            raise

    def _begin(self) -> None:
        """Starts the ranks; all have imported torch before the first scenario's limit counts."""
        options = {"environment": environment(), "deadline_s": LIMIT_S, **self._options}
        self._cluster, self._jobs = Cluster(self._nranks, **options), 0
        try:
            self._cluster.start(work)
            self._cluster.wait_for(*(f"imported/{r}" for r in range(self._nranks)))
        except BaseException as e:
            self._leave(e)
            raise

    def _run(self, cluster: Cluster, job: object) -> list[Any]:
        number, self._jobs = self._jobs, self._jobs + 1
        cluster.deadline_in(LIMIT_S)
        cluster.put(f"job/{number}", job)
        answers = cluster.wait_for(*(f"answer/{number}/{r}" for r in range(self._nranks)))
        failures = [f"rank {r}:\n{error}" for r, (error, _) in enumerate(answers) if error]
        assert not failures, "\n".join(failures)
        return [value for _, value in answers]

    def dismiss(self) -> None:
        """Ends the ranks; each must end well."""
        if self._cluster is None:
            return
        try:
            self._cluster.deadline_in(LIMIT_S)
            self._cluster.put(f"job/{self._jobs}", None)
            self._cluster.values()
            self._leave(None)
        except BaseException as e:
            self._leave(e)
            raise

    def _leave(self, error: BaseException | None) -> None:
        cluster, self._cluster = self._cluster, None
        if cluster is not None:
            cluster.__exit__(type(error) if error else None, error, None)


@contextlib.contextmanager
def team(nranks: int, **options: Any) -> Iterator[Team]:
    """A team of ranks as processes, started when first needed."""
    ranks = Team(nranks, **options)
    try:
        yield ranks
    finally:
        ranks.dismiss()
