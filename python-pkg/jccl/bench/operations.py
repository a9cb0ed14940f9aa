"""The operations that can be measured: their buffers, calls, right answers and bandwidths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

from jccl.bench import float8
from jccl.bindings import Binding
from jccl.core.types import NcclDataType, NcclRedOp

Array = numpy.ndarray[Any, numpy.dtype[Any]]


@dataclass(frozen=True)
class Layout:
    """Buffers of one call, in elements.

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
        root: the root of an operation that has one.
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
class Operation:
    """One operation.

    Attributes:
        layout: (elements of the whole buffer, rank, ranks) to buffers.
        call: runs it on (binding, send address, receive address, arguments), gives a code.
        expected: (all ranks' inputs decoded, rank, reduction, root) to the decoded output, None
            where nothing is written.
        bus_factor: ranks to bus bandwidth over algorithm bandwidth.
        reduces: whether it has a reduction.
        rooted: whether it has a root.
        in_place: whether NCCL defines it in place.
    """

    layout: Callable[[int, int, int], Layout]
    call: Callable[[Binding, int, int, Call], int]
    expected: Callable[[list[Array], int, int, int], Array | None]
    bus_factor: Callable[[int], float]
    reduces: bool = False
    rooted: bool = False
    in_place: bool = True


def reduced(inputs: list[Array], op: int) -> Array:
    """All inputs folded in rank order; the benchmark's values make every order exact."""
    result: Array = inputs[0].copy()
    for other in inputs[1:]:
        if op == NcclRedOp.MAX:
            result = numpy.maximum(result, other)
        elif op == NcclRedOp.MIN:
            result = numpy.minimum(result, other)
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


def _all_reduce(binding: Binding, send: int, recv: int, c: Call) -> int:
    return binding.all_reduce(send, recv, c.count, c.dtype, c.op, c.comm, 0)


def _all_gather(binding: Binding, send: int, recv: int, c: Call) -> int:
    return binding.all_gather(send, recv, c.count, c.dtype, c.comm, 0)


def _reduce_scatter(binding: Binding, send: int, recv: int, c: Call) -> int:
    return binding.reduce_scatter(send, recv, c.count, c.dtype, c.op, c.comm, 0)


def _broadcast(binding: Binding, send: int, recv: int, c: Call) -> int:
    return binding.broadcast(send, recv, c.count, c.dtype, c.root, c.comm, 0)


def _reduce(binding: Binding, send: int, recv: int, c: Call) -> int:
    return binding.reduce(send, recv, c.count, c.dtype, c.op, c.root, c.comm, 0)


def _alltoall(binding: Binding, send: int, recv: int, c: Call) -> int:
    return binding.allto_all(send, recv, c.count, c.dtype, c.comm, 0)


def _gather(binding: Binding, send: int, recv: int, c: Call) -> int:
    return binding.gather(send, recv, c.count, c.dtype, c.root, c.comm, 0)


def _scatter(binding: Binding, send: int, recv: int, c: Call) -> int:
    return binding.scatter(send, recv, c.count, c.dtype, c.root, c.comm, 0)


def _sendrecv(binding: Binding, send: int, recv: int, c: Call) -> int:
    code = binding.group_start()
    code = code or binding.send(send, c.count, c.dtype, (c.rank + 1) % c.nranks, c.comm, 0)
    code = code or binding.recv(recv, c.count, c.dtype, (c.rank - 1) % c.nranks, c.comm, 0)
    return binding.group_end() or code


def _whole(n: int, rank: int, ranks: int) -> Layout:
    return Layout(n, n, n)


def _gathered(n: int, rank: int, ranks: int) -> Layout:
    return Layout(n // ranks, n // ranks, n // ranks * ranks, in_place_send=rank * (n // ranks))


def _scattered(n: int, rank: int, ranks: int) -> Layout:
    return Layout(n // ranks, n // ranks * ranks, n // ranks, in_place_recv=rank * (n // ranks))


def _exchanged(n: int, rank: int, ranks: int) -> Layout:
    return Layout(n // ranks, n // ranks * ranks, n // ranks * ranks)


def _parts(inputs: list[Array], rank: int) -> Array:
    """Part ``rank`` of every input."""
    return numpy.concatenate([numpy.split(each, len(inputs))[rank] for each in inputs])


OPERATIONS = {
    "all_reduce": Operation(
        _whole,
        _all_reduce,
        lambda inputs, rank, op, root: reduced(inputs, op),
        lambda n: 2 * (n - 1) / n,
        reduces=True,
    ),
    "all_gather": Operation(
        _gathered,
        _all_gather,
        lambda inputs, rank, op, root: numpy.concatenate(inputs),
        lambda n: (n - 1) / n,
    ),
    "reduce_scatter": Operation(
        _scattered,
        _reduce_scatter,
        lambda inputs, rank, op, root: numpy.split(reduced(inputs, op), len(inputs))[rank],
        lambda n: (n - 1) / n,
        reduces=True,
    ),
    "broadcast": Operation(
        _whole,
        _broadcast,
        lambda inputs, rank, op, root: inputs[root],
        lambda n: 1.0,
        rooted=True,
    ),
    "reduce": Operation(
        _whole,
        _reduce,
        lambda inputs, rank, op, root: reduced(inputs, op) if rank == root else None,
        lambda n: 1.0,
        reduces=True,
        rooted=True,
    ),
    "alltoall": Operation(
        _exchanged,
        _alltoall,
        lambda inputs, rank, op, root: _parts(inputs, rank),
        lambda n: (n - 1) / n,
    ),
    "gather": Operation(
        _gathered,
        _gather,
        lambda inputs, rank, op, root: numpy.concatenate(inputs) if rank == root else None,
        lambda n: (n - 1) / n,
        rooted=True,
    ),
    "scatter": Operation(
        _scattered,
        _scatter,
        lambda inputs, rank, op, root: numpy.split(inputs[root], len(inputs))[rank],
        lambda n: (n - 1) / n,
        rooted=True,
    ),
    "sendrecv": Operation(
        _whole,
        _sendrecv,
        lambda inputs, rank, op, root: inputs[rank - 1],
        lambda n: 1.0,
        in_place=False,
    ),
}

TYPES = {
    "int8": NcclDataType.INT8,
    "uint8": NcclDataType.UINT8,
    "int32": NcclDataType.INT32,
    "uint32": NcclDataType.UINT32,
    "int64": NcclDataType.INT64,
    "uint64": NcclDataType.UINT64,
    "half": NcclDataType.FLOAT16,
    "float": NcclDataType.FLOAT32,
    "double": NcclDataType.FLOAT64,
    "bfloat16": NcclDataType.BFLOAT16,
    "f8e4m3": NcclDataType.FLOAT8E4M3,
    "f8e5m2": NcclDataType.FLOAT8E5M2,
}
REDUCTIONS = {op.name.lower(): op for op in NcclRedOp if op is not NcclRedOp.PROD}


def storage(dtype: NcclDataType) -> numpy.dtype[Any]:
    """The numpy type that holds elements; bfloat16 lies in uint16, 8-bit floats in uint8."""
    if dtype in float8.TYPES:
        return numpy.dtype("uint8")
    return numpy.dtype("uint16") if dtype is NcclDataType.BFLOAT16 else dtype.numpy_dtype


def decoded(stored: Array, dtype: NcclDataType) -> Array:
    """Stored elements as numbers of the type in which sums are taken."""
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


def sample(rank: int, count: int, dtype: NcclDataType) -> Array:
    """Small whole numbers, different for each rank, whose sums every type represents."""
    # 8-bit floats have no room for more: FLOAT8E5M2 ends to represent all of them at 8.
    different = 2 if dtype in float8.TYPES else 5
    values = (numpy.arange(count, dtype="int64") * 7 + rank * 3) % different
    return encoded(values.astype(decoded(numpy.empty(0, storage(dtype)), dtype).dtype), dtype)
