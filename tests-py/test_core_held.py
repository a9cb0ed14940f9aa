"""jccl.core against a binding that records: when buffers are let go, and when not."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any, cast

import jccl.bindings
import pytest
from fake import COMM, NRANKS, RANK, FakeBinding
from jccl.core import SUM, Communicator, NCCLConfig, NCCLError, get_unique_id, group
from jccl.core.held import held


class Owner(bytearray):
    """A buffer that can be watched."""


class Between:
    """Calls another library; something happens before one of its functions returns."""

    def __init__(self, library: Any, function: str, happens: Callable[[], object]) -> None:
        self._library = library
        self._function = function
        self._happens = happens

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._library, name)
        if name != self._function:
            return function

        def call(*args: Any) -> Any:
            answer = function(*args)
            self._happens()
            return answer

        return call


def _communicator() -> Communicator:
    return Communicator.init(NRANKS, RANK, get_unique_id())


def _start(fake: FakeBinding, comm: Communicator) -> weakref.ref[Owner]:
    """Starts an operation that stays under way; returns its buffer."""
    fake.answers["all_reduce"] = 7
    buffer = Owner(8)
    comm.allreduce(buffer, buffer, SUM)
    return weakref.ref(buffer)


def _lives(buffer: weakref.ref[Owner]) -> bool:
    gc.collect()
    return buffer() is not None


@pytest.mark.parametrize("state", [2, 4, 5, 6, 8])
def test_an_error_says_nothing_of_what_is_under_way(fake: FakeBinding, state: int) -> None:
    comm = _communicator()
    buffer = _start(fake, comm)
    fake.answers["comm_get_async_error"] = (0, state)
    assert comm.get_async_error() == state
    assert _lives(buffer)
    comm.abort()
    assert not _lives(buffer)


def test_many_operations_of_a_communicator_that_ends_elsewhere_raise_nothing(
    fake: FakeBinding,
) -> None:
    comm = _communicator()
    buffer = _start(fake, comm)
    fake.answers["comm_get_async_error"] = (4, 0)
    for _ in range(100):
        _start(fake, comm)
    assert _lives(buffer)
    comm.abort()


def test_two_threads_that_ask_at_once_let_go_only_of_what_was_there_before(
    fake: FakeBinding,
) -> None:
    comm = _communicator()
    old = [_start(fake, comm), _start(fake, comm)]
    new: list[weakref.ref[Owner]] = []

    def another_asks() -> None:
        jccl.bindings.use(cast(Any, fake))
        comm._library = cast(Any, fake)
        thread = threading.Thread(target=comm.get_async_error)
        thread.start()
        thread.join()
        new.extend(_start(fake, comm) for _ in range(2))

    comm._library = cast(Any, Between(fake, "comm_get_async_error", another_asks))
    comm.get_async_error()
    assert [_lives(buffer) for buffer in old] == [False, False]
    assert [_lives(buffer) for buffer in new] == [True, True]
    comm.abort()


def test_a_child_whose_split_began_after_the_question_is_kept(fake: FakeBinding) -> None:
    comm = _communicator()
    fake.answers["comm_get_async_error"] = (0, 7)
    comm.split(0)
    fake.answers["comm_get_async_error"] = (0, 0)

    def another_asks_and_splits() -> None:
        comm._library = cast(Any, fake)
        comm.get_async_error()
        fake.answers["comm_get_async_error"] = (0, 7)
        comm.split(0)

    comm._library = cast(Any, Between(fake, "comm_get_async_error", another_asks_and_splits))
    comm.get_async_error()
    assert len(comm._children) == 1
    comm.abort()


@pytest.mark.parametrize("first", ["comm_destroy", "comm_abort"])
@pytest.mark.parametrize("second", [Communicator.destroy, Communicator.abort])
def test_who_comes_second_to_an_end_lets_nothing_go(
    fake: FakeBinding, first: str, second: Callable[[Communicator], None]
) -> None:
    comm = _communicator()
    buffer = _start(fake, comm)
    meanwhile: list[bool] = []

    def another_ends() -> None:
        comm._library = cast(Any, fake)
        fake.answers["comm_destroy"] = fake.answers["comm_abort"] = 4
        with pytest.raises(NCCLError, match="InvalidArgument"):
            second(comm)
        meanwhile.append(_lives(buffer))

    comm._library = cast(Any, Between(fake, first, another_ends))
    (comm.destroy if first == "comm_destroy" else comm.abort)()
    assert meanwhile == [True]
    assert not _lives(buffer)
    assert not comm.is_valid
    assert COMM not in held


def test_an_abort_that_fails_leaves_the_communicator_to_be_aborted_again(
    fake: FakeBinding,
) -> None:
    comm = _communicator()
    buffer = _start(fake, comm)
    fake.answers["comm_abort"] = 2
    with pytest.raises(NCCLError, match="SystemError"):
        comm.abort()
    assert _lives(buffer)
    fake.answers["comm_abort"] = 0
    comm.abort()
    assert not _lives(buffer)


@pytest.mark.parametrize("code", [4, 0])
def test_what_a_failed_creation_has_begun_is_kept_until_it_is_aborted(
    fake: FakeBinding, code: int
) -> None:
    fake.answers["comm_init_rank_scalable"] = (7, COMM)
    fake.answers["comm_options"] = 4
    fake.answers["comm_abort"] = code
    comm = Communicator()
    with pytest.raises(NCCLError):
        comm.initialize(NRANKS, RANK, get_unique_id(), NCCLConfig(timeout=1.0))
    assert comm.is_valid == (code != 0)
    assert (COMM in held) == (code != 0)
    fake.answers["comm_abort"] = 0
    comm.abort()


def _send_in_a_group(comm: Communicator) -> weakref.ref[Owner]:
    buffer = Owner(8)
    with pytest.raises(NCCLError), group():
        comm.send(buffer, 0)
    return weakref.ref(buffer)


@pytest.mark.parametrize("state", [7, 6])
def test_a_group_that_fails_keeps_what_it_may_have_launched(fake: FakeBinding, state: int) -> None:
    comm = _communicator()
    fake.answers["group_end"] = 6
    fake.answers["comm_get_async_error"] = (0, state)
    buffer = _send_in_a_group(comm)
    assert _lives(buffer)
    comm.abort()
    assert not _lives(buffer)


def test_a_group_that_fails_says_why_before_it_asks_what_is_under_way(fake: FakeBinding) -> None:
    comm = _communicator()
    fake.answers["group_end"] = 6
    _send_in_a_group(comm)
    names = [name for name, _ in fake.calls]
    # The question may fail, too, and the last error is then the question's.
    assert names.index("get_last_error") < names.index("comm_get_async_error")
    comm.abort()


def test_a_group_that_fails_keeps_nothing_of_who_is_idle(fake: FakeBinding) -> None:
    comm = _communicator()
    fake.answers["group_end"] = 4
    assert not _lives(_send_in_a_group(comm))
    comm.abort()


def test_a_call_that_a_group_refuses_is_not_kept(fake: FakeBinding) -> None:
    comm = _communicator()
    fake.answers["send"] = fake.answers["group_end"] = 6
    fake.answers["comm_get_async_error"] = (0, 6)
    assert not _lives(_send_in_a_group(comm))
    comm.abort()
