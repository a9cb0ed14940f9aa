"""The operations that can be measured: their buffers, calls, right answers and bandwidths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy

from jccl._numbers import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    GATHER,
    REDUCE,
    REDUCE_SCATTER,
    SCATTER,
)
from jccl._operations import ALL, ONE, OPERATIONS, Operation
from jccl.bench import float8
from jccl.bindings import Binding
from jccl.core import Communicator
from jccl.core.errors import check
from jccl.core.types import BY_NAME, NcclDataType, NcclRedOp

Array = numpy.ndarray[Any, numpy.dtype[Any]]


@dataclass(frozen=True)
class Layout:
    """The buffers of one call, in elements.

    Attributes:
        count: the count of the NCCL call.
        send: elements of each rank's input.
        recv: elements of each rank's output.
        in_place_send: where the input lies within the output when in place.
        in_place_recv: where the output lies within the input when in place.
    """

    count: int
    send: int
    recv: int
    in_place_send: int = 0
    in_place_recv: int = 0


@dataclass(frozen=True)
class Call:
    """The arguments of one measured call.

    Attributes:
        count: the count of the NCCL call.
        dtype: number of the data type.
        op: number of the reduction.
        root: the root, if the operation has one.
        comm: the communicator's handle.
        rank: this rank.
        nranks: number of ranks.
    """

    count: int
    dtype: int
    op: int
    root: int
    comm: int
    rank: int
    nranks: int


@dataclass(frozen=True)
class Measured:
    """An operation that can be measured.

    Attributes:
        operation: what it reads and writes.
        expected: from (all ranks' decoded inputs, rank, reduction, root) to the decoded output, or
            to None where nothing is written.
        bus_factor: from the number of ranks to bus bandwidth / algorithm bandwidth.
        in_place: whether NCCL defines it in place.
    """

    operation: Operation
    expected: Callable[[list[Array], int, int, int], Array | None]
    bus_factor: Callable[[int], float]
    in_place: bool = True

    def layout(self, elements: int, rank: int, ranks: int) -> Layout:
        """Buffers of which the larger one has ``elements`` elements, or a few less."""
        operation = self.operation
        part = elements // max(operation.in_size(1, ranks), operation.out_size(1, ranks))
        behind = operation.in_place_distance(part, rank)
        return Layout(
            part,
            operation.in_size(part, ranks),
            operation.out_size(part, ranks),
            max(0, behind),
            max(0, -behind),
        )

    def bound(self, binding: Binding, send: int, recv: int, call: Call) -> Callable[[], int]:
        """A function that makes the call on buffers at these addresses and returns its code."""
        if self.operation is RING:
            return partial(_send_and_receive, binding, send, recv, call)
        numbers = [call.count, call.dtype]
        if self.operation.reduces:
            numbers.append(call.op)
        if self.operation.rooted:
            numbers.append(call.root)
        function = getattr(binding, self.operation.function)
        return partial(function, send, recv, *numbers, call.comm, 0)


# Every rank sends to the next rank and receives from the previous one.
RING = Operation("Send and Recv", "", ONE, ALL, ONE, ALL, False)


def _send_and_receive(binding: Binding, send: int, recv: int, c: Call) -> int:
    code = binding.group_start()
    code = code or binding.send(send, c.count, c.dtype, (c.rank + 1) % c.nranks, c.comm, 0)
    code = code or binding.recv(recv, c.count, c.dtype, (c.rank - 1) % c.nranks, c.comm, 0)
    return binding.group_end() or code


def reduced(inputs: list[Array], op: int) -> Array:
    """All inputs folded in rank order; the benchmark's values make every order exact."""
    result: Array = inputs[0].copy()
    for other in inputs[1:]:
        if op == NcclRedOp.MAX:
            result = numpy.maximum(result, other)
        elif op == NcclRedOp.MIN:
            result = numpy.minimum(result, other)
        elif op == NcclRedOp.PROD:
            result = result * other
        else:
            result = result + other
    if op == NcclRedOp.AVG:
        ranks = result.dtype.type(len(inputs))
        if result.dtype.kind == "f":
            result = result / ranks
        else:
            quotient = numpy.abs(result) // ranks
            result = numpy.where(result < 0, -quotient, quotient)
    return result


def _parts(inputs: list[Array], rank: int) -> Array:
    """Part ``rank`` of every input."""
    return numpy.concatenate([numpy.split(each, len(inputs))[rank] for each in inputs])


def _shared(n: int) -> float:
    """The share that comes from or goes to other ranks: each rank already has one of n parts."""
    return (n - 1) / n


MEASURED = {
    "all_reduce": Measured(
        OPERATIONS[ALL_REDUCE],
        lambda inputs, rank, op, root: reduced(inputs, op),
        lambda n: 2 * _shared(n),
    ),
    "all_gather": Measured(
        OPERATIONS[ALL_GATHER],
        lambda inputs, rank, op, root: numpy.concatenate(inputs),
        _shared,
    ),
    "reduce_scatter": Measured(
        OPERATIONS[REDUCE_SCATTER],
        lambda inputs, rank, op, root: numpy.split(reduced(inputs, op), len(inputs))[rank],
        _shared,
    ),
    "broadcast": Measured(
        OPERATIONS[BROADCAST],
        lambda inputs, rank, op, root: inputs[root],
        lambda n: 1.0,
    ),
    "reduce": Measured(
        OPERATIONS[REDUCE],
        lambda inputs, rank, op, root: reduced(inputs, op) if rank == root else None,
        lambda n: 1.0,
    ),
    "alltoall": Measured(
        OPERATIONS[ALL_TO_ALL],
        lambda inputs, rank, op, root: _parts(inputs, rank),
        _shared,
    ),
    "gather": Measured(
        OPERATIONS[GATHER],
        lambda inputs, rank, op, root: numpy.concatenate(inputs) if rank == root else None,
        _shared,
    ),
    "scatter": Measured(
        OPERATIONS[SCATTER],
        lambda inputs, rank, op, root: numpy.split(inputs[root], len(inputs))[rank],
        _shared,
    ),
    "sendrecv": Measured(
        RING,
        lambda inputs, rank, op, root: inputs[rank - 1],
        lambda n: 1.0,
        in_place=False,
    ),
}

#: nccl-tests' names, where they are others.
_NAMES = {
    "float16": "half",
    "float32": "float",
    "float64": "double",
    "float8_e4m3fn": "f8e4m3",
    "float8_e5m2": "f8e5m2",
}
TYPES = {
    _NAMES.get(name, name): NcclDataType(number)
    for name, number in BY_NAME.items()
    if name != "bool"
}
REDUCTIONS = {op.name.lower(): op for op in NcclRedOp}
REDUCTIONS["mulsum"] = NcclRedOp.SUM
#: The factor by which every rank multiplies its input in a mulsum.
FACTOR = 2


def mulsum(comm: Communicator, dtype: NcclDataType) -> int:
    """Creates a sum that first multiplies inputs by FACTOR; returns its number."""
    factor = encoded(
        numpy.array([FACTOR], decoded(numpy.empty(0, storage(dtype)), dtype).dtype), dtype
    )
    immediate = 1  # ncclScalarHostImmediate: the factor is read at once.
    code, number = comm._library.red_op_create_pre_mul_sum(
        factor.ctypes.data, int(dtype), immediate, comm.ptr
    )
    check(code)
    return number


def storage(dtype: NcclDataType) -> numpy.dtype[Any]:
    """The numpy type that holds elements; bfloat16 lies in uint16, 8-bit floats in uint8."""
    if dtype in float8.TYPES:
        return numpy.dtype("uint8")
    return numpy.dtype("uint16") if dtype is NcclDataType.BFLOAT16 else dtype.numpy_dtype


def decoded(stored: Array, dtype: NcclDataType) -> Array:
    """Stored elements as numbers of the type in which they are summed."""
    if dtype is NcclDataType.BFLOAT16:
        wide: Array = stored.astype("uint32") << 16
        numbers: Array = wide.view("float32")
        return numbers
    if dtype in float8.TYPES:
        return float8.decoded(stored, dtype)
    return stored.astype("float32") if dtype is NcclDataType.FLOAT16 else stored


def encoded(numbers: Array, dtype: NcclDataType) -> Array:
    """Numbers as stored elements, rounded once to the nearest, ties to even."""
    if dtype in float8.TYPES:
        return float8.encoded(numbers, dtype)
    if dtype is not NcclDataType.BFLOAT16:
        return numbers.astype(storage(dtype))
    bits: Array = numpy.ascontiguousarray(numbers, "float32").view("uint32")
    rounded: Array = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return rounded.astype("uint16")


def sample(rank: int, count: int, dtype: NcclDataType, op: int = NcclRedOp.SUM) -> Array:
    """Small whole numbers, different on each rank, whose result every type can represent."""
    values = numpy.arange(count, dtype="int64") * 7 + rank * 3
    # 8-bit floats have no room for more: FLOAT8E5M2 has all whole numbers up to 8 only.
    values %= 2 if op == NcclRedOp.PROD or dtype in float8.TYPES else 5
    if op == NcclRedOp.PROD:
        values += 1
    return encoded(values.astype(decoded(numpy.empty(0, storage(dtype)), dtype).dtype), dtype)
