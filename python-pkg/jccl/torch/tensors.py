"""Tensors as contiguous memory: where operations read, and where they write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from jccl.torch.arguments import checked

Tensor = torch.Tensor
After = Callable[[], object] | None
"""What is left to do when an operation has succeeded, or None."""


def single(tensors: Sequence[Any]) -> Any:
    """The only element of a list.

    Raises:
        ValueError: if there is not exactly one.
    """
    if len(tensors) != 1:
        raise ValueError(f"jccl takes one tensor (or list) per call and rank, not {len(tensors)}")
    return tensors[0]


def packed(tensor: Tensor) -> Tensor:
    """A contiguous tensor with the same elements; the same one if it is contiguous."""
    checked(tensor)
    # A lazily negated view holds the opposite of its elements in memory.
    tensor = tensor.resolve_neg()
    return tensor if tensor.is_contiguous() else tensor.contiguous()


def landing(tensor: Tensor) -> tuple[Tensor, After]:
    """Where the elements for a tensor may arrive, and how they get from there into it."""
    checked(tensor)
    if tensor.is_contiguous() and not tensor.is_neg():
        return tensor, None
    buffer = torch.empty(tensor.shape, dtype=tensor.dtype)
    return buffer, copying(tensor, buffer)


def copying(tensor: Tensor, buffer: Tensor) -> After:
    """Copies a buffer into the tensor it stands for, unless they are one."""
    if buffer is tensor:
        return None
    target = tensor.detach()
    return lambda: target.copy_(buffer)


def spreading(tensors: Sequence[Tensor], rows: Tensor) -> After:
    """Copies the rows of a buffer into tensors."""
    targets = [checked(tensor).detach() for tensor in tensors]

    def spread() -> None:
        for target, row in zip(targets, rows, strict=True):
            target.copy_(row.view(target.shape))

    return spread


def each(actions: Sequence[After]) -> After:
    """All of some actions, one after another."""
    some = [action for action in actions if action is not None]
    if not some:
        return None

    def all_of_them() -> None:
        for action in some:
            action()

    return all_of_them


def alike(what: str, size: int, several: Sequence[Tensor], one: Tensor) -> None:
    """Checks that there is one tensor for each rank, all of this rank's size and type.

    Raises:
        ValueError: otherwise.
    """
    if len(several) != size:
        raise ValueError(f"{what} by {size} ranks got {len(several)} tensors")
    for rank, tensor in enumerate(several):
        if tensor.numel() != one.numel() or tensor.dtype != one.dtype:
            raise ValueError(
                f"{what}: the tensor for rank {rank} has {tensor.numel()} elements of "
                f"{tensor.dtype}, this rank's has {one.numel()} of {one.dtype}; "
                "jccl needs them alike"
            )
