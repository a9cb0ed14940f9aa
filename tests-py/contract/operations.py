"""All operations, types and reductions."""

from __future__ import annotations

import array
import importlib
from collections.abc import Callable
from typing import Any

import jccl.core as nccl
from jccl.bindings import load

from contract.buffers import KINDS, LETTERS, content, new
from contract.cases import Rank, case

_SOME = ("UINT8", "INT32", "FLOAT64")
_FOLDS: dict[str, Callable[..., Any]] = {"SUM": sum, "MAX": max, "MIN": min}


def _input(rank: int, count: int) -> list[int]:
    """Small numbers, which every type holds, and whose sums and products it holds, too."""
    return [(3 * rank + i) % 4 + 1 for i in range(count)]


def _reduced(op: str, columns: Any, type_name: str) -> list[Any]:
    reduced = []
    for column in columns:
        if op == "PROD":
            value: Any = 1
            for each in column:
                value *= each
        elif op == "AVG":
            value = sum(column) / len(column)
            value = value if "FLOAT" in type_name else int(value)
        else:
            value = _FOLDS[op](column)
        reduced.append(value)
    return reduced


def _expect(rank: Rank, op: str, type_name: str, count: int) -> list[Any]:
    inputs = [_input(each, count) for each in range(rank.nranks)]
    return _reduced(op, zip(*inputs), type_name)  # noqa: B905


@case(KINDS, LETTERS, ("SUM", "PROD", "MAX", "MIN", "AVG"))
def all_reduce(rank: Rank, kind: str, type_name: str, op: str) -> None:
    x = new(kind, type_name, _input(rank.rank, 19))
    y = new(kind, type_name, [0] * 19)
    rank.comm.allreduce(x, y, getattr(nccl, op))
    expected = _expect(rank, op, type_name, 19)
    got = content(y)
    if op == "AVG" and "FLOAT" in type_name:
        assert all(abs(a - b) < 2e-3 * abs(b) for a, b in zip(got, expected)), got  # noqa: B905
    else:
        assert got == expected, got
    assert content(x) == _input(rank.rank, 19)


@case(KINDS, (0, 1, 17, 1000, 5000, 70_000, 300_000))
def all_reduce_in_place(rank: Rank, kind: str, count: int) -> None:
    x = new(kind, "INT32", _tiled(count, rank.rank))
    rank.comm.allreduce(x, x, nccl.SUM)
    got = content(x)
    period = _expect(rank, "SUM", "INT32", 4)
    assert len(got) == count
    assert got[:4] == period[:count]
    assert got[-1:] == period[(count - 1) % 4 :][: min(1, count)]
    assert sum(got) == sum(period) * (count // 4) + sum(period[: count % 4])


def _tiled(count: int, rank: int) -> array.array[int]:
    """A long input, made without a loop in Python."""
    return (array.array("i", _input(rank, 4)) * (count // 4 + 1))[:count]


# Number, the array for its bits, and the bits of 1 and 3.
_BITS = {
    "FLOAT16": (6, "H", 0x3C00, 0x4200),
    "BFLOAT16": (9, "H", 0x3F80, 0x4040),
    "FLOAT8E4M3": (10, "B", 0x38, 0x44),
    "FLOAT8E5M2": (11, "B", 0x3C, 0x42),
}


@case(_BITS)
def sums_of_types_that_python_does_not_have(rank: Rank, type_name: str) -> None:
    number, letter, one, three = _BITS[type_name]
    x = array.array(letter, [one if rank.rank < 3 else 0] * 33)
    address = x.buffer_info()[0]
    code = load().all_reduce(address, address, 33, number, 0, rank.comm.ptr, 0)
    assert code == 0
    assert x.tolist() == [three] * 33


@case(KINDS, _SOME)
def broadcast(rank: Rank, kind: str, type_name: str) -> None:
    for root in range(rank.nranks):
        x = new(kind, type_name, _input(rank.rank, 33))
        y = new(kind, type_name, [0] * 33)
        rank.comm.broadcast(x, y, root)
        assert content(y) == _input(root, 33)


@case(KINDS, _SOME)
def reduce(rank: Rank, kind: str, type_name: str) -> None:
    root = rank.nranks - 1
    x = new(kind, type_name, _input(rank.rank, 33))
    y = new(kind, type_name, [0] * 33)
    rank.comm.reduce(x, y, nccl.SUM, root)
    expected = _expect(rank, "SUM", type_name, 33) if rank.rank == root else [0] * 33
    assert content(y) == expected


@case(KINDS, _SOME)
def all_gather(rank: Rank, kind: str, type_name: str) -> None:
    x = new(kind, type_name, _input(rank.rank, 7))
    y = new(kind, type_name, [0] * (7 * rank.nranks))
    rank.comm.allgather(x, y)
    assert content(y) == [v for each in range(rank.nranks) for v in _input(each, 7)]


@case(KINDS, _SOME)
def reduce_scatter(rank: Rank, kind: str, type_name: str) -> None:
    x = new(kind, type_name, _input(rank.rank, 7 * rank.nranks))
    y = new(kind, type_name, [0] * 7)
    rank.comm.reduce_scatter(x, y, nccl.SUM)
    expected = _expect(rank, "SUM", type_name, 7 * rank.nranks)
    assert content(y) == expected[7 * rank.rank : 7 * rank.rank + 7]


@case(KINDS, _SOME)
def all_to_all(rank: Rank, kind: str, type_name: str) -> None:
    x = new(kind, type_name, _input(rank.rank, 5 * rank.nranks))
    y = new(kind, type_name, [0] * (5 * rank.nranks))
    rank.comm.alltoall(x, y)
    at = 5 * rank.rank
    parts = [_input(each, 5 * rank.nranks)[at : at + 5] for each in range(rank.nranks)]
    assert content(y) == [v for part in parts for v in part]


@case(KINDS, _SOME)
def gather(rank: Rank, kind: str, type_name: str) -> None:
    x = new(kind, type_name, _input(rank.rank, 5))
    y = new(kind, type_name, [0] * (5 * rank.nranks)) if rank.rank == 1 else None
    rank.comm.gather(x, y, 1)
    if rank.rank == 1:
        assert content(y) == [v for each in range(rank.nranks) for v in _input(each, 5)]


@case(KINDS, _SOME)
def scatter(rank: Rank, kind: str, type_name: str) -> None:
    x = new(kind, type_name, _input(1, 5 * rank.nranks)) if rank.rank == 1 else None
    y = new(kind, type_name, [0] * 5)
    rank.comm.scatter(x, y, 1)
    assert content(y) == _input(1, 5 * rank.nranks)[5 * rank.rank : 5 * rank.rank + 5]


@case(KINDS, _SOME, (8, 50_000))
def send_and_receive_in_a_ring(rank: Rank, kind: str, type_name: str, count: int) -> None:
    tile = array.array(LETTERS[type_name], _input(rank.rank, 4))
    x = new(kind, type_name, tile * (count // 4))
    y = new(kind, type_name, tile * (count // 4))
    before, after = (rank.rank - 1) % rank.nranks, (rank.rank + 1) % rank.nranks
    with nccl.group():
        rank.comm.send(x, after)
        rank.comm.recv(y, before)
    assert content(y) == _input(before, 4) * (count // 4)


@case(("bytearray", "ctypes", "part"))
def other_memory(rank: Rank, what: str) -> None:
    x: Any = bytearray([rank.rank + 1] * 6)
    if what == "ctypes":
        x = (importlib.import_module("ctypes").c_ubyte * 6)(*x)
    elif what == "part":
        x = memoryview(array.array("B", [9, *x, 9]))[1:-1]
    rank.comm.allreduce(x, x, nccl.SUM)
    assert list(x) == [rank.nranks * (rank.nranks + 1) // 2] * 6


@case(("INT32", "FLOAT64"))
def pre_mul_sum(rank: Rank, type_name: str) -> None:
    x = new("array", type_name, _input(rank.rank, 9))
    op = rank.comm.create_pre_mul_sum(rank.rank + 2, getattr(nccl, type_name))
    rank.comm.allreduce(x, x, op)
    op.close()
    inputs = [[(each + 2) * v for v in _input(each, 9)] for each in range(rank.nranks)]
    assert content(x) == [sum(column) for column in zip(*inputs)]  # noqa: B905
