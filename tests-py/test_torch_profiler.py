"""What torch's profiler shows of a group's operations."""

from __future__ import annotations

import gc
from typing import Any

import pytest
import torch
from harness import Rank
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile
from torch_team import Team, dist


def shown(seen: Any) -> list[str]:
    """The names of JCCL's events, in order."""
    return [e.name for e in seen.events() if e.name.startswith("jccl:")]


def profiled() -> Any:
    return profile(activities=[ProfilerActivity.CPU])


def operations_are_events(rank: Rank) -> list[str]:
    other = 1 - rank.rank
    ones = torch.ones(4)
    parts = [torch.empty(4) for _ in range(2)]
    with profiled() as seen:
        dist.all_reduce(ones)
        # With gaps, so that the library copies it.
        dist.all_reduce(torch.ones(4, 4).t()[1:])
        dist.all_gather(parts, ones)
        dist.broadcast(ones, 0)
        dist.reduce_scatter_tensor(torch.empty(2), ones)
        dist.all_to_all_single(torch.empty(4), ones)
        dist.all_to_all(parts, [ones, ones])
        dist.barrier()
        sent = dist.isend(ones, other)
        dist.recv(torch.empty(4), other)
        sent.wait()
    return shown(seen)


def test_every_operation_is_an_event(two: Team) -> None:
    names = (
        "all_reduce all_reduce all_gather broadcast reduce_scatter all_to_all all_to_all barrier "
        "send recv"
    )
    for events in two.run(operations_are_events):
        assert events == [f"jccl:{name}" for name in names.split()]


def training_is_shown(_: Rank) -> list[str]:
    model = DistributedDataParallel(nn.Linear(8, 8))
    with profiled() as seen:
        model(torch.ones(2, 8)).sum().backward()
    return shown(seen)


def test_the_buckets_of_a_training_are_events(two: Team) -> None:
    for events in two.run(training_is_shown):
        assert events == ["jccl:all_reduce"]


def a_refused_call_ends_its_event(_: Rank) -> list[str]:
    with profiled() as seen:
        with pytest.raises(TypeError):
            dist.all_reduce(torch.ones(3, dtype=torch.int16))
        with pytest.raises(RuntimeError):
            dist.send(torch.ones(3), 7)
        dist.all_reduce(torch.ones(3))
    return shown(seen)


def test_refused_calls_are_no_end_of_the_profile(two: Team) -> None:
    for events in two.run(a_refused_call_ends_its_event):
        assert events[-1] == "jccl:all_reduce"


def operations_outlast_profiles(rank: Rank) -> tuple[int, set[str]]:
    names = []
    for time in range(20):
        with profiled() as seen:
            # The last rank to come lets the operations end, after the other's profile.
            if rank.rank == time % 2:
                rank.meet(f"profiled/{time}")
            works = [dist.all_reduce(torch.ones(200_000), async_op=True) for _ in range(20)]
        if rank.rank != time % 2:
            rank.meet(f"profiled/{time}")
        # What torch has freed is somebody else's now.
        lists = [[None] * length for length in (80, 500, 3000, 8000, 30_000) for _ in range(60)]
        for work in works:
            work.get_future().wait()
        assert not any(any(each) for each in lists)
        gc.collect()
        names += shown(seen)
    return len(names), set(names)


def test_operations_may_outlast_a_profile(two: Team) -> None:
    assert two.run(operations_outlast_profiles) == [(400, {"jccl:all_reduce"})] * 2


def nothing_is_recorded_without_a_profile(_: Rank) -> list[str]:
    with profiled() as seen:
        pass
    dist.all_reduce(torch.ones(3))
    return shown(seen)


def test_what_comes_after_a_profile_is_no_event(two: Team) -> None:
    assert two.run(nothing_is_recorded_without_a_profile) == [[], []]
