"""Plain collectives on numpy arrays in one step: it does what the long way does, or nothing."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any, cast

import ml_dtypes
import numpy
import pytest
import torch
from fake import COMM, NRANKS, FakeBinding, Interrupted
from harness import Rank, run_ranks, settled
from jccl._numbers import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    GATHER,
    RECV,
    REDUCE,
    REDUCE_SCATTER,
    SCATTER,
    SEND,
)
from jccl._operations import OPERATIONS
from jccl.bindings import load, use
from jccl.core import (
    MAX,
    SUM,
    Communicator,
    NCCLConfig,
    NCCLError,
    NcclInvalid,
    get_unique_id,
    group,
    resolve,
)
from jccl.core.buffers import _numpy_types

NOT_PLAIN = -1
WITH_ADDRESSES = {each.function for each in OPERATIONS.values()}


class OneStep:
    """A library whose operations with addresses must not be called."""

    def __init__(self, library: Any) -> None:
        self.library = library

    def __getattr__(self, name: str) -> Any:
        assert name not in WITH_ADDRESSES, name
        return getattr(self.library, name)


class LongWay:
    """A library without the one step."""

    def __init__(self, library: Any) -> None:
        self.library = library

    def __getattr__(self, name: str) -> Any:
        return getattr(self.library, name)

    def on_arrays(self, *_: Any) -> int:
        return NOT_PLAIN


def _operations(comm: Communicator, dtype: str) -> list[list[float]]:
    n, rank = comm.nranks, comm.rank
    own = numpy.arange(6 * n).astype(dtype) + numpy.ones(1, dtype) * rank
    longer, share, part = numpy.full(6 * n + 3, 7, dtype), numpy.zeros(6, dtype), own[:6].copy()
    everything, copied, both = numpy.zeros((n, 6 * n), dtype), own.copy(), own.copy()
    collected, exchanged, total = everything.copy(), own.copy(), own.copy()
    at_root = rank == n - 1
    comm.allreduce(own, longer, MAX)
    comm.allreduce(both, both, SUM)
    comm.reduce_scatter(own, share, SUM)
    comm.allgather(own, everything)
    comm.broadcast(own if at_root else None, copied, n - 1)
    comm.alltoall(exchanged, exchanged)
    comm.reduce(own, total if at_root else None, SUM, n - 1)
    comm.gather(own, collected if at_root else None, n - 1)
    comm.scatter(own if at_root else None, part, n - 1)
    settled(comm)
    found = (longer, both, share, everything, copied, exchanged, total, collected, part)
    return [array.ravel().tolist() for array in found]


def _both_ways(rank: Rank, blocking: bool) -> None:
    with rank.comm(NCCLConfig(blocking=blocking)) as comm:
        library: Any = settled(comm)._library
        for dtype in ("float32", "float64", "uint8", "int64", "float16"):
            resolve(numpy.zeros(1, dtype), "x")
            # This call makes rank and nranks known.
            assert comm.rank < comm.nranks
            comm._library = OneStep(library)
            found = _operations(comm, dtype)
            comm._library = LongWay(library)
            assert found == _operations(comm, dtype), dtype
            assert found[0][0] == rank.nranks - 1
            assert found[0][6 * rank.nranks :] == [7] * 3
        comm._library = library


@pytest.mark.parametrize("nranks", [1, 2, 3])
@pytest.mark.parametrize("blocking", [True, False])
def test_the_one_step_does_what_the_long_way_does(nranks: int, blocking: bool) -> None:
    run_ranks(_both_ways, nranks, blocking)


def _known(dtype: Any, *shape: int) -> Any:
    """An array of a type that the extension has been told of."""
    array = numpy.zeros(shape, dtype)
    resolve(array, "x")
    load().know_arrays(numpy.ndarray, _numpy_types)
    return array


def _floats(n: int) -> Any:
    return _known("float32", n)


class Derived(numpy.ndarray[Any, Any]):
    """A class derived from numpy's."""


def _locked() -> Any:
    array = _floats(4)
    array.flags.writeable = False
    return array


OTHERS: dict[str, Any] = {
    "bytes": bytearray(16),
    "memoryview": memoryview(bytearray(16)).cast("f"),
    "tensor": torch.zeros(4),
    "list": [0.0] * 4,
    "nothing": None,
    "derived": _floats(4).view(Derived),
    "strided": _floats(8)[::2],
    "columns": _floats(16).reshape(4, 4)[:, :1],
    "other order": _floats(4).astype(">f4"),
    "no type of NCCL": numpy.zeros(4, "complex64"),
    "other type": _known("float64", 4),
    "other type of one size": _known("int32", 4),
    "text": numpy.array(["a"] * 4),
}


@pytest.fixture
def comm() -> Any:
    with Communicator.init(1, 0, get_unique_id()) as one:
        yield one


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_plain_array_is_left_alone(comm: Communicator, name: str) -> None:
    plain, other = _floats(4), OTHERS[name]
    before = comm._library.comm_stats(comm.ptr, 8)
    for pair in ((plain, other), (other, plain)):
        assert load().on_arrays(ALL_REDUCE, *pair, 0, 0, 0, 1, comm.ptr) == NOT_PLAIN
    assert comm._library.comm_stats(comm.ptr, 8) == before


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (2, 3)])
@pytest.mark.parametrize("dtype", ["int32", "float16", ml_dtypes.bfloat16])
def test_plain_arrays_have_any_shape(
    comm: Communicator, shape: tuple[int, ...], dtype: Any
) -> None:
    send, recv = _known(dtype, *shape), _known(dtype, *shape)
    # Every byte of each element differs from its neighbours'.
    send.reshape(-1).view("uint8")[:] = numpy.arange(1, send.nbytes + 1) % 64
    assert load().on_arrays(ALL_REDUCE, send, recv, 0, 0, 0, 1, comm.ptr) == 0
    assert recv.tobytes() == send.tobytes()


def test_bool_is_left_to_python_which_refuses_some_reductions(comm: Communicator) -> None:
    data = _known("bool", 4)
    assert load().on_arrays(ALL_REDUCE, data, data, 0, 0, 0, 1, comm.ptr) == NOT_PLAIN
    with pytest.raises(NcclInvalid, match="op is SUM and the elements are bool"):
        comm.allreduce(data, data, SUM)
    both = numpy.array([True, False]), numpy.zeros(2, "bool")
    comm.allreduce(*both, MAX)
    assert both[1].tolist() == [True, False]


def test_only_what_is_read_may_be_read_only(comm: Communicator) -> None:
    plain, locked = _floats(4), _locked()
    assert load().on_arrays(ALL_REDUCE, locked, plain, 0, 0, 0, 1, comm.ptr) == 0
    assert load().on_arrays(ALL_REDUCE, plain, locked, 0, 0, 0, 1, comm.ptr) == NOT_PLAIN
    assert load().on_arrays(ALL_REDUCE, locked, locked, 0, 0, 0, 1, comm.ptr) == NOT_PLAIN


@pytest.mark.parametrize(
    ("operation", "sent", "received", "nranks"),
    [
        (ALL_REDUCE, 4, 3, 1),
        (BROADCAST, 4, 5, 1),
        (BROADCAST, 5, 4, 1),
        (ALL_GATHER, 4, 7, 2),
        (REDUCE_SCATTER, 5, 5, 2),
        (REDUCE_SCATTER, 8, 3, 2),
        (ALL_TO_ALL, 5, 5, 2),
        (ALL_TO_ALL, 8, 7, 2),
        (REDUCE, 4, 3, 1),
        (GATHER, 4, 7, 2),
        (SCATTER, 5, 2, 2),
        (SCATTER, 4, 3, 2),
        (SCATTER, 4, 1, 2),
        (ALL_GATHER, 4, 4, 0),
        (ALL_GATHER, 4, 4, -1),
        (SEND, 4, 4, 1),
        (RECV, 4, 4, 1),
        (5, 4, 4, 1),
        (-1, 4, 4, 1),
        (11, 4, 4, 1),
        (2**40, 4, 4, 1),
    ],
)
def test_arrays_that_do_not_fit_are_left_alone(
    comm: Communicator, operation: int, sent: int, received: int, nranks: int
) -> None:
    send, recv = _floats(sent), _floats(received)
    assert load().on_arrays(operation, send, recv, 0, 0, 0, nranks, comm.ptr) == NOT_PLAIN


@pytest.mark.parametrize("number", [2**31, -(2**70), 1.0, "sum", None])
def test_a_number_that_is_no_int_of_c_is_left_alone(comm: Communicator, number: Any) -> None:
    data = _floats(4)
    assert load().on_arrays(ALL_REDUCE, data, data, number, 0, 0, 1, comm.ptr) == NOT_PLAIN


@pytest.mark.parametrize("operation", [BROADCAST, REDUCE, GATHER, SCATTER])
def test_a_rank_that_is_not_known_yet_leaves_rooted_operations_alone(
    comm: Communicator, operation: int
) -> None:
    data = _floats(4)
    one = (operation, data, data, 0, 0)
    assert load().on_arrays(*one, None, 1, comm.ptr) == NOT_PLAIN
    assert load().on_arrays(*one, 0, None, comm.ptr) in (0, NOT_PLAIN)
    assert load().on_arrays(*one, 0, 1, comm.ptr) == 0
    assert load().on_arrays(ALL_REDUCE, data, data, 0, 0, None, None, comm.ptr) == 0


def test_an_open_group_or_no_communicator_leaves_arrays_alone(comm: Communicator) -> None:
    data = _floats(4)
    for none in (0, -1, 2**70, None, numpy.uint64(comm.ptr)):
        assert load().on_arrays(ALL_REDUCE, data, data, 0, 0, 0, 1, cast(Any, none)) == NOT_PLAIN
    with group():
        assert load().on_arrays(ALL_REDUCE, data, data, 0, 0, 0, 1, comm.ptr) == NOT_PLAIN
    assert load().on_arrays(ALL_REDUCE, data, data, 0, 0, 0, 1, comm.ptr) == 0


def test_a_refusal_of_the_library_has_its_sentence(comm: Communicator) -> None:
    data = _floats(4)
    with pytest.raises(NCCLError, match="invalid reduction operation 99"):
        comm.allreduce(data, data, 99)
    overlapping = _floats(8)
    with pytest.raises(NCCLError, match="overlap"):
        comm.allreduce(overlapping[:4], overlapping[2:6], SUM)


class Pressing:
    """A key in the place of a dtype; Ctrl-C comes while the lookup compares it."""

    def __init__(self, dtype: Any) -> None:
        self._hash = hash(dtype)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        raise KeyboardInterrupt


def test_ctrl_c_among_the_arguments_goes_on(comm: Communicator) -> None:
    data = _floats(4)
    load().know_arrays(numpy.ndarray, {cast(Any, Pressing(data.dtype)): 7})
    try:
        for pair in ((data, data), (data, data.copy())):
            with pytest.raises(KeyboardInterrupt):
                load().on_arrays(ALL_REDUCE, *pair, 0, 0, 0, 1, comm.ptr)
    finally:
        load().know_arrays(numpy.ndarray, _numpy_types)


def test_wrong_arguments_of_the_step_itself_are_type_errors() -> None:
    with pytest.raises(TypeError):
        load().on_arrays(ALL_REDUCE)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        load().know_arrays(1, {})  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        load().memory(bytearray(4))  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        load().memory(None, False)
    assert load().memory(_locked(), False)[1] == 4
    for truth in (True, 1, numpy.True_):
        with pytest.raises(ValueError, match="read-only"):
            load().memory(_locked(), cast(Any, truth))


def _late(rank: Rank) -> bool:
    with rank.comm(NCCLConfig(blocking=False)) as comm:
        settled(comm)
        data = _floats(4)
        alive = weakref.ref(data)
        library: Any = comm._library
        comm._library = OneStep(library)
        rank.meet("ready")
        if rank.rank == 0:
            comm.allreduce(data, data, SUM)
            del data
            gc.collect()
            held = alive() is not None
            rank.meet("called")
        else:
            held = True
            rank.meet("called")
            comm.allreduce(data, data, SUM)
            del data
        settled(comm)
        gc.collect()
        return held and alive() is None


def test_the_arrays_of_an_operation_under_way_are_kept() -> None:
    assert run_ranks(_late, 2) == [True, True]


@pytest.mark.parametrize("code", [0, 7, 5])
def test_the_code_of_the_one_step_counts(fake: FakeBinding, code: int) -> None:
    fake.answers["on_arrays"] = code
    comm = Communicator.init(1, 0, get_unique_id())
    data = numpy.zeros(4, "float32")
    alive = weakref.ref(data)
    if code == 5:
        with pytest.raises(NCCLError, match="the sentence"):
            comm.allreduce(data, data, SUM)
    else:
        comm.allreduce(data, data, SUM)
    assert not fake.count("all_reduce")
    del data
    gc.collect()
    assert (alive() is not None) == (code == 7)


def test_an_interrupt_as_the_one_step_ends_revokes(fake: FakeBinding) -> None:
    fake.answers["comm_get_async_error"] = (0, 7)
    use(cast(Any, Interrupted(fake, "on_arrays")))
    comm = Communicator.init(1, 0, get_unique_id())
    data = numpy.zeros(4, "float32")
    with pytest.raises(KeyboardInterrupt):
        comm.allreduce(data, data, SUM)
    assert fake.last("comm_interrupt") == (COMM,)


def test_a_stream_or_a_configuration_is_not_lost(fake: FakeBinding) -> None:
    fake.answers["on_arrays"] = 0
    comm = Communicator.init(1, 0, get_unique_id())
    data, many = numpy.zeros(4, "float32"), numpy.zeros(4 * NRANKS, "float32")
    calls: list[Callable[..., None]] = [
        lambda **more: comm.allreduce(data, data, SUM, **more),
        lambda **more: comm.reduce(data, data, SUM, **more),
        lambda **more: comm.gather(data, many, **more),
        lambda **more: comm.allgather(data, many, **more),
        lambda **more: comm.broadcast(data, data, 0, **more),
        lambda **more: comm.reduce_scatter(many, data, SUM, **more),
        lambda **more: comm.alltoall(many, many, **more),
        lambda **more: comm.reduce(data, data, SUM, 0, **more),
        lambda **more: comm.gather(data, many, 0, **more),
        lambda **more: comm.scatter(many, data, 0, **more),
    ]
    for call in calls:
        with pytest.raises(NcclInvalid, match="stream is 7"):
            call(stream=7)
        with pytest.raises(NCCLError, match="not done yet"):
            call(config=object())
