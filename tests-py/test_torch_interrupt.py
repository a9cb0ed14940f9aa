"""Ctrl-C between the steps of one operation of a group."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import pytest
import torch
from fake import CHILD, COMM, FakeBinding, Interrupted
from harness import Cluster, Rank, announce_blocked
from jccl._numbers import IN_PROGRESS
from jccl.torch import creation
from jccl.torch.communicator import Communicator, Part
from jccl.torch.composition import Call, Composition
from jccl.torch.futures import completer
from jccl.torch.tensors import Copies
from torch_team import Team, dist, environment, joined

CALL: Call = (4, 64, 64, 1, 7, 0, 0)


def _part() -> Part:
    return CALL, Composition(_nothing)


def _communicator(fake: FakeBinding, function: str) -> Communicator:
    fake.answers.update(start=(IN_PROGRESS, 1))
    return Communicator(cast(Any, Interrupted(fake, function)), COMM, timedelta(seconds=1))


@pytest.mark.parametrize(("function", "waits"), [("start", False), ("run", True)])
def test_an_interrupt_while_several_operations_start_revokes(
    fake: FakeBinding, function: str, waits: bool
) -> None:
    comm = _communicator(fake, function)
    with pytest.raises(KeyboardInterrupt):
        comm.run_all([_part(), _part()], waits, [torch.ones(1)])
    assert fake.last("comm_interrupt") == (COMM,)
    assert fake.count(function) == 1


class InTurn:
    """A library whose operations get tickets 1, 2 …, and are over once these are in ``over``."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._started = 0
        self.over: set[int] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)

    def start(self, *_: int) -> tuple[int, int]:
        self._started += 1
        return IN_PROGRESS, self._started

    def poll(self, _comm: int, ticket: int, _ms: int) -> int:
        return 0 if ticket in self.over else IN_PROGRESS


def test_several_operations_are_over_when_all_are(fake: FakeBinding) -> None:
    library = InTurn(fake)
    comm = Communicator(cast(Any, library), COMM, timedelta(seconds=1))
    tensors = [torch.ones(1), torch.ones(2)]
    work = comm.run_all([_part(), _part()], False, tensors)
    library.over = {1}
    assert not work.is_completed()
    library.over = {1, 2}
    assert work.is_completed()
    assert work.result() == tensors


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


def test_an_idle_thread_of_the_futures_does_not_come_to_the_library_again_and_again(
    fake: FakeBinding,
) -> None:
    """The library sends it back at once, as one does whose Java has ended."""
    fake.answers.update(start=(IN_PROGRESS, 1), poll=IN_PROGRESS, wait_completion=(0, 0))
    work = Communicator(cast(Any, fake), COMM, timedelta(seconds=1)).run(CALL, False, [])
    future = work.get_future()
    fake.answers["poll"] = 0
    assert future.wait() == []
    # Until the thread has come back from its callback.
    while completer()._library is not None:
        time.sleep(0.001)
    count = fake.count("wait_completion")
    time.sleep(0.1)
    assert fake.count("wait_completion") == count


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


def _nothing() -> None:
    pass


def _gaps() -> Composition:
    """The composition of an operation on a tensor with gaps."""
    composition = Composition(_nothing)
    composition.updates(torch.ones(4)[::2])
    return composition


@pytest.mark.parametrize("waits", [True, False])
def test_an_operation_on_a_tensor_with_gaps_is_one_call(fake: FakeBinding, waits: bool) -> None:
    function = "run_composed" if waits else "start_composed"
    fake.answers.update(start_composed=(0, 0))
    comm = _communicator(fake, "")
    comm.run(CALL, waits, [torch.ones(1)], _gaps())
    # The call, how many copies and transfers there are, and two copies in one dimension.
    assert fake.last(function)[1:] == (7 + 3 + 2 * (4 + 3), COMM)
    assert not fake.count("comm_interrupt")


def test_an_interrupt_while_an_operation_with_gaps_starts_revokes(fake: FakeBinding) -> None:
    fake.answers.update(start_composed=(IN_PROGRESS, 1))
    comm = _communicator(fake, "start_composed")
    with pytest.raises(KeyboardInterrupt):
        comm.run(CALL, False, [torch.ones(1)], _gaps())
    assert fake.last("comm_interrupt") == (COMM,)


class Telling:
    """A lock that tells when a thread comes to it."""

    def __init__(self, comm: Communicator) -> None:
        self._lock: Any = comm.writes.lock
        self.watched: threading.Thread | None = None
        self.come = threading.Event()
        comm.writes.lock = cast(Any, self)

    def __enter__(self) -> None:
        if threading.current_thread() is self.watched:
            self.come.set()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class Result:
    """Stands for the tensor that a result is copied into: does something first."""

    def __init__(self, first: Callable[[], object] = _nothing) -> None:
        self._first = first
        self.written = 0

    def copy_(self, _: torch.Tensor) -> None:
        self._first()
        self.written += 1

    def is_inference(self) -> bool:
        return False

    @property
    def copies(self) -> Copies:
        return [(cast(torch.Tensor, self), torch.ones(1))]


def _press_ctrl_c() -> None:
    raise KeyboardInterrupt


def test_an_abort_waits_for_another_thread_that_copies(fake: FakeBinding) -> None:
    comm = _communicator(fake, "")
    copying, aborting = threading.Event(), threading.Event()

    def first() -> None:
        copying.set()
        aborting.wait(30)
        # Long enough to see a thread that does not wait.
        time.sleep(0.1)

    result = Result(first)
    thread = threading.Thread(target=lambda: comm.writes.copy(result.copies))
    thread.start()
    assert copying.wait(30)
    lock = Telling(comm)
    lock.watched = threading.current_thread()

    def tell() -> None:
        lock.come.wait(30)
        aborting.set()

    told = threading.Thread(target=tell)
    told.start()
    comm.abort()
    assert result.written == 1
    thread.join()
    told.join()


def _ends(target: Callable[[], object]) -> None:
    """Runs something on a thread, which would never end if it waited for itself."""

    def run() -> None:
        with contextlib.suppress(dist.DistBackendError):
            target()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()


def test_a_handler_that_aborts_while_its_thread_copies_passes(fake: FakeBinding) -> None:
    comm = _communicator(fake, "")
    work = comm.run(CALL, False, [])
    _ends(lambda: comm.writes.copy(Result(comm.abort).copies))
    assert fake.count("comm_abort") == 1
    assert "the group was aborted" in str(work.exception())


def test_a_handler_that_aborts_between_two_copies_ends_the_copying(fake: FakeBinding) -> None:
    comm = _communicator(fake, "")
    first, second = Result(comm.abort), Result()
    with pytest.raises(dist.DistBackendError, match="the group was aborted"):
        comm.writes.copy([*first.copies, *second.copies])
    assert (first.written, second.written) == (1, 0)


def test_nothing_is_copied_into_tensors_of_a_group_that_has_ended(fake: FakeBinding) -> None:
    comm = _communicator(fake, "")
    result = Result()
    comm.abort()
    with pytest.raises(dist.DistBackendError, match="the group was aborted"):
        comm.writes.copy(result.copies)
    assert not result.written


def test_two_threads_may_shut_a_group_down(fake: FakeBinding) -> None:
    pollers = set()
    both_poll, ended = threading.Event(), threading.Event()

    class Library(Interrupted):
        def comm_get_async_error(self, _: int) -> tuple[int, int]:
            pollers.add(threading.current_thread())
            if len(pollers) == 2:
                both_poll.set()
            return (0, 0 if ended.is_set() else IN_PROGRESS)

    comm = _communicator(fake, "")
    comm.native = cast(Any, Library(fake, ""))
    fake.answers["comm_finalize"] = IN_PROGRESS
    threads = [threading.Thread(target=comm.shutdown) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert both_poll.wait(30)
    ended.set()
    for thread in threads:
        thread.join()
    counts = [fake.count(f"comm_{name}") for name in ("finalize", "destroy", "abort")]
    assert counts == [1, 1, 0]


def test_a_child_forked_while_a_thread_copies_is_not_locked_out(fake: FakeBinding) -> None:
    comm = _communicator(fake, "")
    fake.answers["poll"] = 0
    copying, forked = threading.Event(), threading.Event()

    def first() -> None:
        copying.set()
        assert forked.wait(30)

    thread = threading.Thread(target=lambda: comm.writes.copy(Result(first).copies))
    thread.start()
    assert copying.wait(30)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        comm.abort()
        os._exit(0)
    forked.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("raised", [KeyboardInterrupt, RuntimeError])
def test_a_future_whose_making_ended_early_is_completed_later(
    fake: FakeBinding, monkeypatch: pytest.MonkeyPatch, raised: type[BaseException]
) -> None:
    fake.answers.update(start=(IN_PROGRESS, 1), poll=IN_PROGRESS, wait_completion=(0, 0))
    work = Communicator(cast(Any, fake), COMM, timedelta(seconds=1)).run(CALL, False, [])
    with monkeypatch.context() as broken:
        broken.setattr(completer(), "add", Mock(side_effect=raised))
        with pytest.raises(raised):
            work.get_future()
    fake.answers["poll"] = 0
    assert work.get_future().wait() == []


def test_an_operation_that_nobody_can_look_at_is_revoked(fake: FakeBinding) -> None:
    fake.answers.update(start=(IN_PROGRESS, 1), wait_completion=(0, 0))
    broken = Communicator(cast(Any, OutOfMemory(fake)), COMM, timedelta(seconds=1))
    lost = broken.run(CALL, False, [torch.ones(1)]).get_future()
    with pytest.raises(RuntimeError, match="planted"):
        lost.wait()
    assert fake.last("comm_interrupt") == (COMM,)


@pytest.mark.parametrize("second", ["abort", "shutdown"])
def test_who_ends_a_group_again_waits_until_it_has_ended(fake: FakeBinding, second: str) -> None:
    entered, leave, returned = threading.Event(), threading.Event(), threading.Event()

    class Library(Interrupted):
        def comm_abort(self, _: int) -> int:
            entered.set()
            assert leave.wait(30)
            return 0

    comm = _communicator(fake, "")
    comm.native = cast(Any, Library(fake, ""))
    aborting = threading.Thread(target=comm.abort)
    aborting.start()
    assert entered.wait(30)

    def end_again() -> None:
        getattr(comm, second)()
        returned.set()

    lock = Telling(comm)
    lock.watched = again = threading.Thread(target=end_again)
    again.start()
    assert lock.come.wait(30)
    # Long enough to see a thread that does not wait.
    early = returned.wait(0.1)
    leave.set()
    aborting.join()
    again.join()
    assert not early


def test_an_operation_that_is_waited_for_is_one_call(fake: FakeBinding) -> None:
    comm = _communicator(fake, "")
    comm.run(CALL, True, [torch.ones(1)])
    assert fake.last("run") == (*CALL, COMM)
    assert not fake.count("start")
    assert not fake.count("comm_interrupt")


def test_a_refused_operation_revokes_nothing(fake: FakeBinding) -> None:
    comm = _communicator(fake, "")
    fake.answers.update(start=(4, 0), run=4)
    for waits in (True, False):
        with pytest.raises(dist.DistBackendError):
            comm.run(CALL, waits, [torch.ones(1)])
        with pytest.raises(dist.DistBackendError):
            comm.run_all([_part()], waits, [torch.ones(1)])
    assert not fake.count("comm_interrupt")


def _split(fake: FakeBinding, function: str, ranks: list[int]) -> None:
    """Splits a group of the library that ``fake`` plays, as its rank 0."""
    parent = SimpleNamespace(
        _comm=_communicator(fake, function),
        _rank=0,
        _identity=creation.Identity("parent", "nonce"),
        splits=itertools.count(),
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
        group._comm.native = Interrupted(group._comm.native, "start_composed")
        with pytest.raises(KeyboardInterrupt):
            dist.all_to_all([torch.empty(3) for _ in tensors], tensors, async_op=True)
        group._comm.native = group._comm.native._library
        rank.put("interrupted")
    else:
        rank.get("interrupted")

    def go_on() -> None:
        # Everything that rank 0 had to send may have arrived.
        dist.all_to_all([torch.empty(3) for _ in tensors], tensors)
        dist.barrier()

    with pytest.raises(dist.DistBackendError) as caught:
        go_on()
    return str(caught.value)


def test_peers_learn_of_an_interrupt_after_the_start() -> None:
    team = Team(2)
    try:
        sentences = team.run(an_interrupt_after_the_start)
    finally:
        team.dismiss()
    assert all("rank 0 was interrupted" in sentence for sentence in sentences)


def blocked_until_interrupted(rank: Rank) -> str:
    tensor = torch.ones(3)
    with joined(rank, "interrupt"):
        dist.barrier()
        if rank.rank == 0:
            announce_blocked(rank)
            try:
                dist.all_reduce(tensor)
            except KeyboardInterrupt:
                rank.put("interrupted")
                return "interrupted"
        rank.get("interrupted")

        def several() -> None:
            # Rank 0 may have sent its part of the first one before it was interrupted.
            for _ in range(2):
                dist.all_reduce(tensor)

        with pytest.raises(dist.DistBackendError) as caught:
            several()
        return str(caught.value)


def test_an_interrupt_ends_a_synchronous_collective() -> None:
    with Cluster(2, environment=environment()) as cluster:
        cluster.start(blocked_until_interrupted).wait_for("blocked")
        cluster.signal(0, signal.SIGINT)
        first, second = cluster.values()
    assert first == "interrupted"
    assert "rank 0 was interrupted" in second
