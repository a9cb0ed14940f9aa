"""How many handles of operations a group keeps, against a binding that records."""

from __future__ import annotations

import gc
from datetime import timedelta
from typing import Any, cast

import pytest
import torch
from fake import COMM, FakeBinding
from jccl._numbers import IN_PROGRESS, RECV
from jccl.torch.communicator import Communicator
from jccl.torch.composition import Call
from jccl.torch.work import StartedWork
from torch.multiprocessing import reductions

RECEIVE: Call = (RECV, 0, 64, 1, 7, 0, 0)


class Pending:
    """A library that gives tickets; some of them stay under way.

    Attributes:
        tickets: those that stay under way.
        looks: how often somebody has looked at one of them.
    """

    def __init__(self, library: Any) -> None:
        self._library = library
        self._next = 0
        self.tickets: set[int] = set()
        self.looks = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)

    def start(self, *_: int) -> tuple[int, int]:
        self._next += 1
        return IN_PROGRESS, self._next

    def poll(self, _comm: int, ticket: int, _ms: int) -> int:
        self.looks += ticket in self.tickets
        return IN_PROGRESS if ticket in self.tickets else 0


@pytest.fixture
def library(fake: FakeBinding) -> Pending:
    return Pending(fake)


def _group(library: Pending) -> Communicator:
    return Communicator(cast(Any, library), COMM, timedelta(seconds=1))


def _start(comm: Communicator) -> StartedWork:
    return cast(StartedWork, comm.run(RECEIVE, False, [torch.empty(1)]))


@pytest.mark.parametrize("pending", [1, 5, 24])
def test_receives_that_stay_under_way_do_not_keep_what_is_over(
    library: Pending, pending: int
) -> None:
    comm = _group(library)
    library.tickets = set(range(1, pending + 1))
    receives = [_start(comm) for _ in range(pending)]
    for _ in range(800):
        _start(comm)
    assert len(comm.works) <= 2 * pending + 2
    assert {id(work) for work in comm.works} >= set(map(id, receives))
    assert not any(work.is_completed() for work in receives)
    library.tickets.clear()
    receives.clear()
    for _ in range(4 * pending):
        _start(comm)
    assert len(comm.works) <= 2


def test_handles_that_somebody_holds_keep_their_tensors(library: Pending) -> None:
    comm = _group(library)
    held = [_start(comm) for _ in range(10)]
    for _ in range(100):
        _start(comm)
    assert all(len(work.result()) == 1 for work in held)
    assert len(comm.works) <= 2 * len(held) + 2


def test_the_storages_of_what_is_over_are_let_go(library: Pending) -> None:
    comm = _group(library)
    library.tickets = {1}
    _start(comm)
    # torch gives no types for it.
    weak: Any = reductions.StorageWeakRef
    stores: list[Any] = []
    for _ in range(100):
        big = torch.empty(1000)
        stores.append(weak(big.untyped_storage()))
        comm.run(RECEIVE, False, [big[:1]])
    del big
    gc.collect()
    assert sum(not store.expired() for store in stores) <= 3


def test_each_start_looks_at_few_of_what_is_under_way(library: Pending) -> None:
    comm = _group(library)
    pending, started = 500, 5000
    library.tickets = set(range(1, pending + 1))
    for _ in range(started):
        _start(comm)
    assert library.looks <= 2 * started


def test_a_handle_that_was_passed_over_ends_with_its_group(library: Pending) -> None:
    comm = _group(library)
    library.tickets = {1}
    receive = _start(comm)
    for _ in range(80):
        _start(comm)
    comm.abort()
    assert "the group was aborted" in str(receive.exception())


def test_a_handle_of_which_cpp_holds_half_can_be_waited_for(library: Pending) -> None:
    comm = _group(library)
    _start(comm)
    for _ in range(10):
        _start(comm)
    first = comm._finished[0]
    assert first.wait()
    with pytest.raises(RuntimeError, match="only C\\+\\+ code held"):
        first.result()


def test_operations_that_are_waited_for_let_go_too(library: Pending) -> None:
    comm = _group(library)
    held = [_start(comm) for _ in range(50)]
    held.clear()
    for _ in range(50):
        comm.run(RECEIVE, True, [])
    assert not comm.works
