"""Exchanges of torch, which are sends and receives inside, that need a rank which was killed."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import pytest
import torch
from harness import NET, Cluster, Rank, announce_blocked
from test_kill import REPORT_S, stolen_s
from torch_team import TIMEOUT, dist, environment

VICTIM = 2
COUNT = 1 << 16


def _everything(rank: Rank) -> None:
    tensor = torch.ones(3 * COUNT)
    dist.all_to_all_single(torch.empty_like(tensor), tensor)


def _everything_later(rank: Rank) -> None:
    tensor = torch.ones(3 * COUNT)
    dist.all_to_all_single(torch.empty_like(tensor), tensor, async_op=True).wait()


def _gather_from_it(rank: Rank) -> None:
    into = [torch.empty(COUNT) for _ in range(3)] if rank.rank == 0 else None
    dist.gather(torch.ones(COUNT), into, dst=0)
    # The other rank has sent its part, for which it needs nobody.
    dist.barrier()


def _gather_to_it(rank: Rank) -> None:
    # Often more bytes than can be on the way; the system may take as much as it likes.
    dist.gather(torch.ones(16 * COUNT), None, dst=VICTIM)
    dist.barrier()


def _scatter_from_it(rank: Rank) -> None:
    dist.scatter(torch.empty(COUNT), None, src=VICTIM)


def _scatter_to_it(rank: Rank) -> None:
    parts = [torch.ones(16 * COUNT) for _ in range(3)] if rank.rank == 0 else None
    dist.scatter(torch.empty(16 * COUNT), parts, src=0)
    dist.barrier()


OPERATIONS: dict[str, Callable[[Rank], None]] = {
    function.__name__: function
    for function in (
        _everything,
        _everything_later,
        _gather_from_it,
        _gather_to_it,
        _scatter_from_it,
        _scatter_to_it,
    )
}


def _exchange(rank: Rank, name: str) -> None:
    torch.set_num_threads(1)
    if rank.rank == 0:
        store = dist.TCPStore("127.0.0.1", 0, rank.nranks, True, wait_for_workers=False)
        rank.put("store", store.port)
    else:
        store = dist.TCPStore("127.0.0.1", rank.get("store"), rank.nranks, False)
    dist.init_process_group(
        "jccl", store=store, rank=rank.rank, world_size=rank.nranks, timeout=TIMEOUT
    )
    try:
        dist.barrier()
        if rank.rank == VICTIM:
            rank.get("end")
        announce_blocked(rank, f"blocked/{rank.rank}")
        OPERATIONS[name](rank)
    finally:
        dist.destroy_process_group()


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("kind", ["everything", "gather", "scatter"])
def test_a_killed_rank_is_named(kind: str, seed: int) -> None:
    """One operation of each kind, by the seed: each of them takes new processes with torch."""
    names = [name for name in OPERATIONS if kind in name]
    _a_killed_rank_is_named(names[seed % len(names)], {})


@pytest.mark.stress
@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("variables", [{}, NET], ids=["shm", "tcp"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_killed_rank_is_named_by_each_operation(name: str, variables: dict[str, str]) -> None:
    _a_killed_rank_is_named(name, variables)


def _a_killed_rank_is_named(name: str, variables: dict[str, str]) -> None:
    with Cluster(3, environment=environment(**variables)) as cluster:
        cluster.start(_exchange, name)
        cluster.wait_for(*(f"blocked/{rank}" for rank in range(VICTIM)))
        killed, stolen = time.monotonic(), stolen_s()
        cluster.signal(VICTIM, signal.SIGKILL)
        outcomes = cluster.join()
    allowed = REPORT_S + stolen_s() - stolen
    for outcome in outcomes[:VICTIM]:
        assert outcome.kind == "DistBackendError", outcome
        assert f"rank {VICTIM} is lost" in outcome.error, outcome.error
        assert outcome.seconds - killed < allowed
