"""How many handles of operations a group keeps, against a binding that records."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

import pytest
import torch
from fake import COMM, FakeBinding
from jccl.torch import communicator as communicator_module
from jccl.torch.arguments import RECV
from jccl.torch.communicator import Call, Communicator
from jccl.torch.work import IN_PROGRESS, QueuedWork

RECEIVE: Call = (RECV, 0, 64, 1, 7, 0, 0)
KEPT = 8
KEPT_BYTES = 1 << 20


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
def library(fake: FakeBinding, monkeypatch: pytest.MonkeyPatch) -> Pending:
    monkeypatch.setattr(communicator_module, "_KEPT_WORKS", KEPT)
    monkeypatch.setattr(communicator_module, "_KEPT_BYTES", KEPT_BYTES)
    return Pending(fake)


def _group(library: Pending) -> Communicator:
    return Communicator(cast(Any, library), COMM, timedelta(seconds=1))


def _start(comm: Communicator, count: int = 1) -> QueuedWork:
    return cast(QueuedWork, comm.run(RECEIVE, False, [torch.empty(count)]))


@pytest.mark.parametrize("pending", [1, 5, 3 * KEPT])
def test_receives_that_stay_under_way_do_not_keep_what_is_over(
    library: Pending, pending: int
) -> None:
    comm = _group(library)
    library.tickets = set(range(1, pending + 1))
    receives = [_start(comm) for _ in range(pending)]
    for _ in range(100 * KEPT):
        _start(comm)
    assert len(comm._works) <= KEPT + 2 * pending + 1
    assert {id(work) for work, _ in comm._works} >= set(map(id, receives))
    assert not any(work.is_completed() for work in receives)
    library.tickets.clear()
    for _ in range(4 * pending):
        _start(comm)
    assert len(comm._works) <= KEPT + 1


def test_the_bytes_of_what_is_over_are_bounded_beside_a_receive(library: Pending) -> None:
    comm = _group(library)
    library.tickets = {1}
    _start(comm)
    for _ in range(100):
        _start(comm, KEPT_BYTES // 4)
        assert comm._kept_bytes <= 2 * KEPT_BYTES + 4
    assert comm._kept_bytes == sum(size for _, size in comm._works)


def test_each_start_looks_at_few_of_what_is_under_way(library: Pending) -> None:
    comm = _group(library)
    pending, started = 500, 5000
    library.tickets = set(range(1, pending + 1))
    for _ in range(started):
        _start(comm)
    assert library.looks <= 3 * started


def test_a_handle_that_was_passed_over_ends_with_its_group(library: Pending) -> None:
    comm = _group(library)
    library.tickets = {1}
    receive = _start(comm)
    for _ in range(10 * KEPT):
        _start(comm)
    comm.abort()
    assert "the group was aborted" in str(receive.exception())
