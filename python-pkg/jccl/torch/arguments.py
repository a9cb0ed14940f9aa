"""Translates torch's types, reductions and tensors into the library's numbers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

import torch
from torch.distributed import ReduceOp

from jccl._numbers import AVG, MAX, MIN, PROD, SUM, UINT8
from jccl.core.types import BY_NAME

TYPES: Final[dict[torch.dtype, int]] = {
    getattr(torch, name): number for name, number in BY_NAME.items() if name != "bool"
}
"""ncclDataType_t of the element types that JCCL reduces."""

Reduction = tuple[int, int]
"""ncclDataType_t and ncclRedOp_t of a reduction."""


def _reductions() -> tuple[dict[torch.dtype, Reduction], ...]:
    """For each ReduceOp, by its number in torch, the element types it works on.

    bool has no type of its own in the library and travels as uint8. The maximum of bytes 0 and 1 is
    torch's sum of bools (logical or), their minimum is the product.
    """
    by_op: list[dict[torch.dtype, Reduction]] = [{} for _ in range(9)]
    ours = {
        ReduceOp.SUM: SUM,
        ReduceOp.AVG: AVG,
        ReduceOp.PRODUCT: PROD,
        ReduceOp.MIN: MIN,
        ReduceOp.MAX: MAX,
    }
    for op, number in ours.items():
        by_op[hash(op)] = {dtype: (kind, number) for dtype, kind in TYPES.items()}
    by_op[hash(ReduceOp.SUM)][torch.bool] = (UINT8, MAX)
    by_op[hash(ReduceOp.PRODUCT)][torch.bool] = (UINT8, MIN)
    by_op[hash(ReduceOp.MAX)][torch.bool] = (UINT8, MAX)
    by_op[hash(ReduceOp.MIN)][torch.bool] = (UINT8, MIN)
    return tuple(by_op)


PREMUL_SUM: Final = hash(ReduceOp.PREMUL_SUM)
"""Each factor needs a reduction of its own on each communicator: ``Communicator.reduction``."""

_PARTWISE: Final = (hash(ReduceOp.SUM), hash(ReduceOp.AVG), PREMUL_SUM)

REDUCTIONS: Final = _reductions()
"""Indexed by ``hash(reduce_op)``, which torch defines as the operation's number."""


def reduction(reduce_op: ReduceOp, dtype: torch.dtype) -> Reduction:
    """The library's type and operation for a reduction.

    Raises:
        TypeError: the operation does not work on this type.
        ValueError: JCCL does not have the operation.
    """
    number = hash(reduce_op)
    found = REDUCTIONS[number].get(dtype) if number < len(REDUCTIONS) else None
    if found is not None:
        return found
    name = str(reduce_op.op).rpartition(".")[2]
    if number >= len(REDUCTIONS) or not REDUCTIONS[number]:
        raise ValueError(
            f"jccl reduces by SUM, AVG, PRODUCT, MIN, MAX and PREMUL_SUM, not by {name}"
        )
    raise TypeError(
        f"jccl cannot reduce {dtype} by {name}; it reduces float8_e4m3fn, float8_e5m2, float16, "
        "bfloat16, float32, float64 and integers of 8, 32 and 64 bits, and bool by SUM, PRODUCT, "
        "MIN and MAX"
    )


HOST: Final = torch.device("cpu")


def checked(tensor: torch.Tensor, device: torch.device = HOST) -> torch.Tensor:
    """The tensor, if its bytes can be moved as they are.

    Raises:
        TypeError: it is not dense.
        ValueError: it is not on the device of the operation.
    """
    if tensor.device != device:
        raise ValueError(
            f"this operation's tensors are on {device}, but one is on {tensor.device}; "
            "copy it to where the others are"
        )
    if tensor.layout is not torch.strided:
        raise TypeError(f"jccl moves dense tensors; this one has layout {tensor.layout}")
    return tensor


def real(tensor: torch.Tensor) -> torch.Tensor:
    """A complex tensor as pairs of real numbers; any other tensor as it is."""
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


def summands(tensor: torch.Tensor, reduce_op: ReduceOp) -> torch.Tensor:
    """As ``real``, for a reduction.

    Raises:
        TypeError: the tensor is complex and the operation cannot be applied to its parts.
    """
    if tensor.is_complex() and hash(reduce_op) not in _PARTWISE:
        name = str(reduce_op.op).rpartition(".")[2]
        raise TypeError(f"jccl reduces complex tensors by SUM, AVG and PREMUL_SUM, not by {name}")
    return real(tensor)


def moved(tensor: torch.Tensor) -> tuple[int, int]:
    """Count and type under which a contiguous tensor's bytes travel unchanged."""
    kind = TYPES.get(tensor.dtype)
    if kind is None:
        return tensor.nbytes, UINT8
    return tensor.numel(), kind


def waits(opts: Any) -> bool:
    """Whether the caller of an operation with these options waits for it at once."""
    return opts is not None and not opts.asyncOp


def seconds(timeout: timedelta) -> float:
    """A group's time limit in seconds; raises ValueError if it is not above 0."""
    limit = timeout.total_seconds()
    if limit <= 0:
        raise ValueError(
            f"the timeout of a group is {limit:g} s: it must be above 0 s; torch makes one of 293 "
            "years or more negative"
        )
    return limit
