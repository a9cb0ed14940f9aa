"""Ctrl-C between the steps of one operation of a group."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from fake import CHILD, COMM, FakeBinding, Interrupted
from harness import Rank
from jccl.torch import communicator as communicator_module
from jccl.torch import creation
from jccl.torch.communicator import Call, Communicator
from jccl.torch.tensors import Copies
from jccl.torch.work import IN_PROGRESS, QueuedWork
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


def _nothing() -> None:
    pass


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

    def _is_owned(self) -> bool:
        return bool(self._lock._is_owned())


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


def _everybody_looks(fake: FakeBinding, comm: Communicator, work: QueuedWork | None) -> None:
    """What others may do with handles after an interrupt of the thread that waited."""
    fake.answers["poll"] = 0
    comm.native = cast(Any, fake)
    for kept, _ in comm._works:
        kept._native = comm.native
    if work is not None:
        assert work.is_completed()
        assert "interrupted" in str(work.exception())
    comm._forget_finished()
    comm.shutdown()


@pytest.mark.parametrize("when", ["before the result is copied", "while it is"])
def test_a_result_that_came_with_an_interrupt_is_not_copied_later(
    fake: FakeBinding, when: str
) -> None:
    copied = when == "while it is"
    fake.answers["poll"] = 0
    comm = _communicator(fake, "" if copied else "poll")
    result = Result(_press_ctrl_c if copied else _nothing)
    work = cast(QueuedWork, comm.run(CALL, False, [torch.ones(1)], copies=result.copies))
    with pytest.raises(KeyboardInterrupt):
        work.wait()
    assert fake.last("comm_interrupt") == (COMM,)
    result._first = _nothing
    _everybody_looks(fake, comm, work)
    assert not result.written


def test_the_result_of_an_operation_whose_start_is_interrupted_is_not_copied_later(
    fake: FakeBinding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(communicator_module, "_KEPT_WORKS", 0)
    comm = _communicator(fake, "poll")
    result = Result()
    with pytest.raises(KeyboardInterrupt):
        comm.run(CALL, False, [torch.ones(1)], copies=result.copies)
    assert fake.last("comm_interrupt") == (COMM,)
    _everybody_looks(fake, comm, None)
    assert not result.written


def test_an_interrupt_waits_for_another_thread_that_copies_the_result(fake: FakeBinding) -> None:
    copying, revoked = threading.Event(), threading.Event()

    class Library(Interrupted):
        def poll(self, *_: int) -> int:
            if threading.current_thread() is not threading.main_thread():
                return 0
            assert copying.wait(30)
            raise KeyboardInterrupt

        def comm_interrupt(self, _: int) -> int:
            revoked.set()
            return 0

    def first() -> None:
        copying.set()
        revoked.wait(30)
        # Long enough that who does not wait is seen.
        time.sleep(0.1)

    comm = _communicator(fake, "")
    comm.native = cast(Any, Library(fake, ""))
    result = Result(first)
    work = cast(QueuedWork, comm.run(CALL, False, [torch.ones(1)], copies=result.copies))
    looking = threading.Thread(target=work.look)
    looking.start()
    with pytest.raises(KeyboardInterrupt):
        work.wait()
    written = result.written
    looking.join()
    assert written == 1
    assert work.is_success()


def _ends(target: Callable[[], object]) -> None:
    """Runs something on a thread, which would never end if it waited for itself."""

    def run() -> None:
        with contextlib.suppress(dist.DistBackendError):
            target()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()


@pytest.mark.parametrize("looks", ["wait", "is_completed", "_forget_finished"])
def test_a_handler_that_aborts_while_its_thread_copies_a_result_passes(
    fake: FakeBinding, monkeypatch: pytest.MonkeyPatch, looks: str
) -> None:
    comm = _communicator(fake, "")
    fake.answers["poll"] = 0
    works = [comm.run(CALL, False, [], copies=Result(comm.abort).copies) for _ in range(3)]
    monkeypatch.setattr(communicator_module, "_KEPT_WORKS", 0)
    _ends(comm._forget_finished if looks == "_forget_finished" else getattr(works[0], looks))
    assert fake.count("comm_abort") == 1
    assert all("the group was aborted" in str(work.exception()) for work in works)


@pytest.mark.parametrize("looks_at", ["its handle", "another handle"])
def test_a_handler_that_aborts_waits_for_nobody_who_looks(
    fake: FakeBinding, monkeypatch: pytest.MonkeyPatch, looks_at: str
) -> None:
    comm = _communicator(fake, "")
    fake.answers["poll"] = 0
    lock = Telling(comm)

    def abort() -> None:
        other.start()
        # The other thread waits for the copy, or may copy its own result when this one has copied.
        assert lock.come.wait(30)
        comm.abort()

    work = comm.run(CALL, False, [], copies=Result(abort).copies)
    result = Result()
    later = cast(QueuedWork, comm.run(CALL, False, [], copies=result.copies))
    monkeypatch.setattr(communicator_module, "_KEPT_WORKS", 0)
    look = comm._forget_finished if looks_at == "its handle" else later.look
    lock.watched = other = threading.Thread(target=look, daemon=True)
    _ends(work.wait)
    other.join(30)
    assert not other.is_alive()
    assert not result.written
    assert "the group was aborted" in str(later.exception())


def test_a_handler_that_aborts_between_two_copies_ends_the_copying(fake: FakeBinding) -> None:
    comm = _communicator(fake, "")
    fake.answers["poll"] = 0
    first, second = Result(comm.abort), Result()
    work = comm.run(CALL, False, [], copies=[*first.copies, *second.copies])
    with pytest.raises(dist.DistBackendError, match="the group was aborted"):
        work.wait()
    assert (first.written, second.written) == (1, 0)


@pytest.mark.parametrize("waits", [True, False])
def test_nothing_is_copied_into_tensors_of_a_group_that_has_ended(
    fake: FakeBinding, waits: bool
) -> None:
    comm = _communicator(fake, "")
    fake.answers.update(start=(0, 0), end_group=(0, 0), poll=0)
    result = Result()
    comm.writes.ended = "the group is over"
    with pytest.raises(dist.DistBackendError, match="the group is over"):
        comm.run(CALL, waits, [], copies=result.copies).wait()
    with pytest.raises(dist.DistBackendError, match="the group is over"):
        comm.run_all([CALL], waits, [], copies=result.copies).wait()
    assert not result.written


def test_a_handler_that_aborts_leaves_callbacks_to_the_thread_of_the_futures(
    fake: FakeBinding,
) -> None:
    comm = _communicator(fake, "")
    fake.answers.update(poll=IN_PROGRESS, wait_completion=(0, 0))
    looked = threading.Event()

    def looks(_: Any) -> None:
        # Callbacks may wait for other threads, which may look at handles of the group.
        thread = threading.Thread(target=works[0].is_completed, daemon=True)
        thread.start()
        thread.join(30)
        assert not thread.is_alive()
        looked.set()

    works = [comm.run(CALL, False, [], copies=Result(comm.abort).copies)]
    works.append(comm.run(CALL, False, []))
    works[1].get_future().add_done_callback(looks)
    fake.answers["poll"] = 0
    comm.native = cast(Any, fake)
    _ends(lambda: works[0]._settle(0))  # type: ignore[union-attr]
    assert looked.wait(30)


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

    work = cast(QueuedWork, comm.run(CALL, False, [], copies=Result(first).copies))
    thread = threading.Thread(target=work.look)
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
    # Long enough that who does not wait is seen.
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
