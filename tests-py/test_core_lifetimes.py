"""jccl.core against a binding that records: groups, and who lives how long while operations run."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any, cast

import jccl.bindings
import numpy
import pytest
from fake import CHILD, COMM, NRANKS, RANK, FakeBinding, Interrupted
from jccl.core import (
    SUM,
    Communicator,
    NCCLConfig,
    NCCLError,
    NcclInvalid,
    Result,
    get_unique_id,
    group,
    group_end,
    group_start,
)
from jccl.core.held import held


@pytest.fixture
def comm(fake: FakeBinding) -> Communicator:
    return Communicator.init(NRANKS, RANK, get_unique_id())


def floats(count: int) -> Any:
    return numpy.zeros(count, "float32")


class Owner(bytearray):
    """A buffer that can be watched."""


@pytest.mark.parametrize("double", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_communicator_has_one_owner(
    comm: Communicator, double: Callable[[Communicator], object]
) -> None:
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        double(comm)


def test_buffers_of_a_running_operation_live_until_it_is_complete(
    fake: FakeBinding, comm: Communicator
) -> None:
    fake.answers["all_reduce"] = 7
    fake.answers["comm_get_async_error"] = (0, 7)
    buffer = Owner(8)
    alive = weakref.ref(buffer)
    comm.allreduce(buffer, buffer, SUM)
    del buffer
    assert comm.get_async_error() is Result.InProgress
    gc.collect()
    assert alive() is not None
    fake.answers["comm_get_async_error"] = (0, 0)
    assert comm.get_async_error() is Result.Success
    gc.collect()
    assert alive() is None


def test_buffers_of_a_running_operation_outlive_a_dropped_communicator(
    fake: FakeBinding,
) -> None:
    fake.answers["all_reduce"] = 7
    comm = Communicator(0x7777)
    buffer = Owner(8)
    alive = weakref.ref(buffer)
    comm.allreduce(buffer, buffer, SUM)
    del buffer, comm
    gc.collect()
    assert alive() is not None
    Communicator(0x7777).abort()
    gc.collect()
    assert alive() is None


def test_buffers_of_a_finished_operation_are_let_go(comm: Communicator) -> None:
    buffer = Owner(8)
    alive = weakref.ref(buffer)
    comm.allreduce(buffer, buffer, SUM)
    del buffer
    gc.collect()
    assert alive() is None


def test_many_running_operations_do_not_pile_up_once_they_are_complete(
    fake: FakeBinding, comm: Communicator
) -> None:
    fake.answers["all_reduce"] = 7
    for _ in range(1000):
        comm.allreduce(bytearray(8), bytearray(8), SUM)
    assert len(held[COMM]) < 100


def test_buffers_of_a_group_live_until_its_end(fake: FakeBinding, comm: Communicator) -> None:
    buffer = Owner(8)
    alive = weakref.ref(buffer)
    with group():
        comm.send(buffer, 0)
        del buffer
        gc.collect()
        assert alive() is not None
    gc.collect()
    assert alive() is None


def test_buffers_of_a_group_that_still_runs_live_on(fake: FakeBinding, comm: Communicator) -> None:
    fake.answers["group_end"] = 7
    buffer = Owner(8)
    alive = weakref.ref(buffer)
    with group():
        comm.send(buffer, 0)
    del buffer
    gc.collect()
    assert alive() is not None
    assert comm.get_async_error() is Result.Success
    gc.collect()
    assert alive() is None


def test_a_parent_keeps_the_child_of_a_running_split(fake: FakeBinding, comm: Communicator) -> None:
    fake.answers["comm_get_async_error"] = (0, 7)
    child = comm.split(0, 5)
    assert child.ptr == CHILD
    assert fake.last("comm_split") == (COMM, 0, 5, 0)
    alive = weakref.ref(child)
    del child
    comm.get_async_error()
    gc.collect()
    assert alive() is not None
    fake.answers["comm_get_async_error"] = (0, 0)
    comm.get_async_error()
    gc.collect()
    assert alive() is None


def test_a_parent_keeps_no_child_of_a_split_that_is_over(
    fake: FakeBinding, comm: Communicator
) -> None:
    child = comm.split(0)
    alive = weakref.ref(child)
    child.destroy()
    del child
    gc.collect()
    assert alive() is None


def _queue(comm: Communicator, function: str) -> None:
    if function == "group_end":
        with group():
            comm.send(Owner(8), 0)
    else:
        comm.allreduce(Owner(8), Owner(8), SUM)


@pytest.mark.parametrize("function", ["all_reduce", "group_end"])
def test_an_interrupt_when_an_operation_is_queued_ends_it(fake: FakeBinding, function: str) -> None:
    jccl.bindings.use(cast(Any, Interrupted(fake, function)))
    comm = Communicator.init(NRANKS, RANK, get_unique_id())
    fake.answers["comm_get_async_error"] = (0, 7)
    with pytest.raises(KeyboardInterrupt):
        _queue(comm, function)
    assert fake.last("comm_interrupt") == (COMM,)


OPERATIONS: dict[str, Callable[[Communicator, Any, Any], None]] = {
    "all_reduce": lambda comm, send, recv: comm.allreduce(send, recv, SUM),
    "broadcast": lambda comm, send, recv: comm.broadcast(send, recv, RANK),
    "all_gather": lambda comm, send, recv: comm.allgather(send, recv),
    "reduce_scatter": lambda comm, send, recv: comm.reduce_scatter(send, recv, SUM),
    "send": lambda comm, send, recv: comm.send(send, 0),
    "recv": lambda comm, send, recv: comm.recv(recv, 0),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_interrupted_operation_keeps_its_buffers_until_it_has_ended(
    fake: FakeBinding, name: str
) -> None:
    send, recv = Owner(8), Owner(32 if name == "all_gather" else 8)
    used = [] if name == "recv" else [weakref.ref(send)]
    used += [] if name == "send" else [weakref.ref(recv)]
    alive: list[bool] = []

    class Watched(Interrupted):
        def comm_interrupt(self, comm: int) -> int:
            gc.collect()
            alive.extend(buffer() is not None for buffer in used)
            return int(fake.comm_interrupt(comm))

    jccl.bindings.use(cast(Any, Watched(fake, name)))
    comm = Communicator.init(NRANKS, RANK, get_unique_id())
    fake.answers["comm_get_async_error"] = (0, 7)
    buffers = [send, recv]
    del send, recv
    with pytest.raises(KeyboardInterrupt):
        OPERATIONS[name](comm, buffers.pop(0), buffers.pop())
    assert fake.last("comm_interrupt") == (COMM,)
    assert alive == [True] * len(used)


def test_a_refused_operation_leaves_alone_what_is_under_way(
    fake: FakeBinding, comm: Communicator
) -> None:
    fake.answers["comm_get_async_error"] = (0, 7)
    with pytest.raises(NcclInvalid):
        comm.allreduce(Owner(8), Owner(8), cast(Any, "sum"))
    fake.answers["all_reduce"] = 5
    with pytest.raises(NCCLError):
        comm.allreduce(Owner(8), Owner(8), SUM)
    assert not fake.count("comm_interrupt")


@pytest.mark.parametrize("function", ["all_reduce", "group_end"])
def test_an_interrupt_when_an_operation_is_complete_revokes_nothing(
    fake: FakeBinding, function: str
) -> None:
    jccl.bindings.use(cast(Any, Interrupted(fake, function)))
    comm = Communicator.init(NRANKS, RANK, get_unique_id())
    with pytest.raises(KeyboardInterrupt):
        _queue(comm, function)
    assert not fake.count("comm_interrupt")


def test_a_split_without_colour_gives_a_communicator_without_handle(
    fake: FakeBinding, comm: Communicator
) -> None:
    fake.answers["comm_split"] = (0, 0)
    assert not comm.split().is_valid
    assert fake.last("comm_split") == (COMM, -1, 0, 0)


def test_a_new_communicator_is_aborted_when_a_setting_is_refused(
    fake: FakeBinding, comm: Communicator
) -> None:
    fake.answers["comm_options"] = 4
    limited = NCCLConfig(timeout=1.0)
    with pytest.raises(NCCLError):
        Communicator.init(NRANKS, RANK, get_unique_id(), limited)
    assert fake.last("comm_abort") == (COMM,)
    with pytest.raises(NCCLError):
        comm.split(0, config=limited)
    assert fake.last("comm_abort") == (CHILD,)
    assert comm.is_valid


def test_a_with_block_destroys_and_a_failing_one_aborts(fake: FakeBinding) -> None:
    with Communicator.init(NRANKS, RANK, get_unique_id()) as comm:
        assert comm.is_valid
    assert (fake.count("comm_destroy"), fake.count("comm_abort")) == (1, 0)
    with (
        pytest.raises(ZeroDivisionError),
        Communicator.init(NRANKS, RANK, get_unique_id()),
    ):
        _ = 1 / 0
    assert (fake.count("comm_destroy"), fake.count("comm_abort")) == (1, 1)


def test_groups_nest(fake: FakeBinding, comm: Communicator) -> None:
    buffer = Owner(8)
    alive = weakref.ref(buffer)
    group_start()
    group_start()
    comm.send(buffer, 0)
    del buffer
    group_end()
    gc.collect()
    assert alive() is not None
    group_end()
    gc.collect()
    assert alive() is None


def test_a_body_that_raises_launches_nothing(fake: FakeBinding, comm: Communicator) -> None:
    fake.answers["group_end"] = 4

    def body() -> None:
        with group():
            comm.send(b"12", 0)
            comm.recv(b"12", 0)

    with pytest.raises(NcclInvalid, match="read-only"):
        body()
    names = [name for name, _ in fake.calls if name != "comm_user_rank"]
    assert names[names.index("send") :][:3] == ["send", "all_reduce", "group_end"]
    assert fake.last("all_reduce")[5] == 0  # no communicator: an error that drops the group


def test_the_end_of_a_group_raises_its_error(fake: FakeBinding) -> None:
    fake.answers["group_end"] = 5
    with pytest.raises(NCCLError, match="InvalidUsage"), group():
        pass
