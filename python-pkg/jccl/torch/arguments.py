"""What torch passes to a collective, in the numbers that the C door takes."""

from __future__ import annotations

from typing import Final

import torch
from torch.distributed import ReduceOp

from jccl._numbers import (
    AVG,
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    MAX,
    MIN,
    SUM,
    UINT8,
)

TYPES: Final[dict[torch.dtype, int]] = {
    torch.uint8: UINT8,
    torch.int32: INT32,
    torch.int64: INT64,
    torch.float16: FLOAT16,
    torch.float32: FLOAT32,
    torch.float64: FLOAT64,
    torch.bfloat16: BFLOAT16,
}
"""ncclDataType_t of the element types that JCCL reduces."""

Reduction = tuple[int, int]
"""ncclDataType_t and ncclRedOp_t of a reduction."""


def _reductions() -> tuple[dict[torch.dtype, Reduction], ...]:
    """For each ReduceOp, by its number in torch, the element types it works on.

    int8 and bool have no type of their own in the library; they travel as uint8 where the bits
    of the result are the same: a sum of int8 wraps around like that of uint8, and on the bytes
    0 and 1 of bool the sum (logical or, as torch has it) is the maximum.
    """
    by_op: list[dict[torch.dtype, Reduction]] = [{} for _ in range(9)]
    ours = {ReduceOp.SUM: SUM, ReduceOp.AVG: AVG, ReduceOp.MIN: MIN, ReduceOp.MAX: MAX}
    for op, number in ours.items():
        by_op[hash(op)] = {dtype: (kind, number) for dtype, kind in TYPES.items()}
    by_op[hash(ReduceOp.SUM)][torch.int8] = (UINT8, SUM)
    by_op[hash(ReduceOp.SUM)][torch.bool] = (UINT8, MAX)
    by_op[hash(ReduceOp.MAX)][torch.bool] = (UINT8, MAX)
    by_op[hash(ReduceOp.MIN)][torch.bool] = (UINT8, MIN)
    return tuple(by_op)


REDUCTIONS: Final = _reductions()
"""Indexed by ``hash(reduce_op)``, which torch defines as the operation's number."""


def reduction(reduce_op: ReduceOp, dtype: torch.dtype) -> Reduction:
    """The library's type and operation for a reduction.

    Raises:
        TypeError: a type that this operation does not work on.
        ValueError: an operation that JCCL does not have.
    """
    number = hash(reduce_op)
    found = REDUCTIONS[number].get(dtype) if number < len(REDUCTIONS) else None
    if found is not None:
        return found
    name = str(reduce_op.op).rpartition(".")[2]
    if number >= len(REDUCTIONS) or not REDUCTIONS[number]:
        raise ValueError(f"jccl reduces by SUM, AVG, MIN and MAX, not by {name}")
    raise TypeError(
        f"jccl cannot reduce {dtype} by {name}; it reduces float16, bfloat16, float32, float64, "
        "int32, int64 and uint8 by SUM, AVG, MIN and MAX, int8 by SUM, bool by SUM, MIN and MAX"
    )


def checked(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor, if its bytes can be moved as they are.

    Raises:
        TypeError: not a dense tensor.
        ValueError: not in host memory.
    """
    if not tensor.is_cpu:
        raise ValueError(
            f"jccl moves CPU tensors; this one is on {tensor.device}. "
            "Copy it to the CPU, or use another backend for that device"
        )
    if tensor.layout is not torch.strided:
        raise TypeError(f"jccl moves dense tensors; this one has layout {tensor.layout}")
    return tensor


def real(tensor: torch.Tensor) -> torch.Tensor:
    """A complex tensor as pairs of its parts, any other as it is."""
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


def moved(tensor: torch.Tensor) -> tuple[int, int]:
    """Count and type under which a contiguous tensor's bytes travel unchanged."""
    kind = TYPES.get(tensor.dtype)
    if kind is None:
        return tensor.nbytes, UINT8
    return tensor.numel(), kind
