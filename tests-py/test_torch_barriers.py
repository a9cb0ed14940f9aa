"""Barriers, and those that name who is missing."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest
from harness import Rank
from jccl.torch.monitored import MonitoredBarrier
from torch_team import TIMEOUT, Team, dist


def barriers(rank: Rank) -> None:
    if rank.rank == 0:
        # Meanwhile the others come; if the barrier let them through, the time would show it.
        time.sleep(0.3)
        rank.put("enters", time.monotonic())
    dist.barrier()
    left = time.monotonic()
    assert left > rank.get("enters")
    work = dist.barrier(async_op=True)
    work.wait()
    dist.monitored_barrier(timeout=TIMEOUT)
    group = dist.group.WORLD
    assert group is not None
    before = group._get_sequence_number_for_group()
    dist.barrier()
    assert group._get_sequence_number_for_group() == before + 1


def a_monitored_barrier_names_who_is_missing(rank: Rank) -> None:
    last = rank.nranks - 1
    if rank.rank != last:
        with pytest.raises(dist.DistBackendError, match=rf"Rank {last} failed to pass"):
            dist.monitored_barrier(timeout=timedelta(seconds=0.3))
    rank.meet("monitored")
    dist.barrier()


def monitored_barriers_leave_no_keys(_rank: Rank) -> None:
    store = dist.distributed_c10d._get_default_store()
    # The keys of the last one stay.
    counts = []
    for n_barriers in (1, 20):
        for _ in range(n_barriers):
            dist.monitored_barrier(timeout=TIMEOUT)
        dist.barrier()
        counts.append(store.num_keys())
        dist.barrier()
    assert counts[0] == counts[1]


def a_monitored_barrier_needs_no_deletion(rank: Rank) -> None:
    inner = dist.distributed_c10d._get_default_store()

    def no_deletion(_store: Any, _key: str) -> bool:
        raise RuntimeError("like a store of torch that cannot delete, EtcdStore")

    methods = {name: getattr(inner, name) for name in ("check", "get", "set")}
    store: Any = type("StoreThatKeepsAll", (), {**methods, "delete_key": no_deletion})()
    barrier = MonitoredBarrier(store, rank.rank, rank.nranks, "keeps")
    for _ in range(3):
        barrier.run(TIMEOUT, False)
    dist.barrier()


@pytest.mark.parametrize(
    "scenario",
    [
        barriers,
        a_monitored_barrier_names_who_is_missing,
        monitored_barriers_leave_no_keys,
        a_monitored_barrier_needs_no_deletion,
    ],
    ids=lambda scenario: str(scenario.__name__),
)
def test_scenario(scenario: object, two: Team, four: Team) -> None:
    for team in (two, four):
        team.run(scenario)  # type: ignore[arg-type]
