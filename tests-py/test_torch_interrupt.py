"""Ctrl-C between the steps of one operation of a group."""

from __future__ import annotations

import threading
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from fake import CHILD, COMM, FakeBinding, Interrupted
from harness import Rank
from jccl.torch import creation
from jccl.torch.communicator import Call, Communicator
from jccl.torch.work import IN_PROGRESS
from torch_team import Team, dist

CALL: Call = (4, 64, 64, 1, 7, 0, 0)


def _communicator(fake: FakeBinding, function: str) -> Communicator:
    fake.answers.update(start=(IN_PROGRESS, 1), end_group=(IN_PROGRESS, 1))
    return Communicator(cast(Any, Interrupted(fake, function)), COMM, timedelta(seconds=1))


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("function", ["start_group", "start", "end_group"])
def test_an_interrupt_while_a_group_starts_revokes(
    fake: FakeBinding, function: str, waits: bool
) -> None:
    comm = _communicator(fake, function)
    with pytest.raises(KeyboardInterrupt):
        comm.run_all([CALL, CALL], waits, [torch.ones(1)])
    assert fake.last("comm_interrupt") == (COMM,)
    assert fake.count("end_group") == 1


class OutOfMemory:
    """A library whose operations jccl-futures cannot look at."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)

    def poll(self, *_: int) -> int:
        if threading.current_thread().name == "jccl-futures":
            raise MemoryError("planted")
        return IN_PROGRESS


def test_the_thread_of_the_futures_outlives_what_is_raised_on_it(fake: FakeBinding) -> None:
    fake.answers.update(start=(IN_PROGRESS, 1), wait_completion=(0, 0))
    broken = Communicator(cast(Any, OutOfMemory(fake)), COMM, timedelta(seconds=1))
    lost = broken.run(CALL, False, [torch.ones(1)]).get_future()
    with pytest.raises(RuntimeError, match="planted"):
        lost.wait()
    fake.answers["poll"] = IN_PROGRESS
    work = Communicator(cast(Any, fake), COMM, timedelta(seconds=1)).run(CALL, False, [])
    future = work.get_future()
    fake.answers["poll"] = 0
    assert future.wait() == []


def test_an_interrupt_while_an_operation_starts_revokes(fake: FakeBinding) -> None:
    comm = _communicator(fake, "start")
    with pytest.raises(KeyboardInterrupt):
        comm.run(CALL, False, [torch.ones(1)])
    assert fake.last("comm_interrupt") == (COMM,)


def test_an_interrupt_while_a_handle_waits_revokes(fake: FakeBinding) -> None:
    comm = _communicator(fake, "poll")
    work = comm.run(CALL, False, [torch.ones(1)])
    with pytest.raises(KeyboardInterrupt):
        work.wait()
    assert fake.last("comm_interrupt") == (COMM,)


def test_an_operation_that_is_waited_for_is_one_call(fake: FakeBinding) -> None:
    comm = _communicator(fake, "")
    comm.run(CALL, True, [torch.ones(1)])
    assert fake.last("run") == (*CALL, COMM)
    assert not fake.count("start")
    assert not fake.count("comm_interrupt")


def test_a_refused_operation_revokes_nothing(fake: FakeBinding) -> None:
    comm = _communicator(fake, "")
    fake.answers.update(start=(4, 0), end_group=(4, 0), run=4)
    for waits in (True, False):
        with pytest.raises(dist.DistBackendError):
            comm.run(CALL, waits, [torch.ones(1)])
        with pytest.raises(dist.DistBackendError):
            comm.run_all([CALL], waits, [torch.ones(1)])
    assert not fake.count("comm_interrupt")


def _split(fake: FakeBinding, function: str, ranks: list[int]) -> None:
    """Splits a group of the library that ``fake`` plays, as its rank 0."""
    parent = SimpleNamespace(
        _comm=_communicator(fake, function),
        _rank=0,
        _identity=creation.Identity("parent", "nonce"),
    )
    limit = timedelta(seconds=0.01)
    creation.split(cast(Any, parent), ranks, limit, None, None)


def test_an_interrupt_while_a_group_splits_aborts_the_child(fake: FakeBinding) -> None:
    with pytest.raises(KeyboardInterrupt):
        _split(fake, "comm_get_async_error", [0, 1])
    assert fake.last("comm_abort") == (CHILD,)
    assert fake.count("comm_abort") == 1


def test_a_split_that_is_not_over_in_time_aborts_the_child(fake: FakeBinding) -> None:
    fake.answers["comm_get_async_error"] = (0, IN_PROGRESS)
    with pytest.raises(dist.DistBackendError, match="not over within"):
        _split(fake, "", [0, 1])
    assert fake.last("comm_abort") == (CHILD,)


def test_a_split_without_a_child_aborts_nothing(fake: FakeBinding) -> None:
    fake.answers["comm_split"] = (0, 0)
    with pytest.raises(KeyboardInterrupt):
        _split(fake, "comm_get_async_error", [1, 2])
    assert not fake.count("comm_abort")


def an_interrupt_after_the_start(rank: Rank) -> str:
    group = dist.group.WORLD
    tensors = [torch.ones(3) for _ in range(rank.nranks)]
    rank.meet("joined")
    if rank.rank == 0:
        group._comm.native = Interrupted(group._comm.native, "end_group")
        with pytest.raises(KeyboardInterrupt):
            dist.all_to_all([torch.empty(3) for _ in tensors], tensors)
        group._comm.native = group._comm.native._library
        rank.put("interrupted")
    else:
        rank.get("interrupted")
    with pytest.raises(dist.DistBackendError) as caught:
        dist.barrier()
    return str(caught.value)


def test_peers_learn_of_an_interrupt_after_the_start() -> None:
    team = Team(2)
    try:
        sentences = team.run(an_interrupt_after_the_start)
    finally:
        team.dismiss()
    assert all("rank 0 was interrupted" in sentence for sentence in sentences)
