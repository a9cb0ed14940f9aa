"""Writing into callers' tensors, and checks of tensors and lists of tensors."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import torch
from torch.distributed import DistBackendError

from jccl._operations import OPERATIONS

Tensor = torch.Tensor
Copies = Sequence[tuple[Tensor, Tensor]]
"""Targets and sources of copies that torch makes after an operation has succeeded."""


# All instances: a forked child gives them new locks, since another thread may have held the old.
_all: weakref.WeakSet[Writes] = weakref.WeakSet()


class Writes:
    """Writes into the tensors of a communicator's callers, until the communicator ends.

    Attributes:
        lock: a thread holds it while it copies into them, or ends the communicator or an
            operation's handle. It is one lock for all of that, so that no two threads can wait for
            each other. A signal handler on the holding thread may take it again. A thread that
            holds it waits for no other thread.
        ended: why the communicator has ended; None before. Written under the lock.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.ended: str | None = None
        _all.add(self)

    def copy(self, copies: Copies) -> None:
        """Copies each source into its target, until the communicator ends.

        Raises:
            DistBackendError: the communicator has ended; nothing is written from then on.
        """
        with self.lock:
            for target, source in copies:
                # A signal handler may have ended the communicator since the last copy.
                if self.ended is not None:
                    raise DistBackendError(f"{self.ended}, and the result was not written")
                if target.is_inference():
                    # Such a tensor can be written only in inference mode.
                    with torch.inference_mode():
                        target.copy_(source)
                else:
                    target.copy_(source)


def _renew() -> None:
    for writes in _all:
        writes.lock = threading.RLock()


os.register_at_fork(after_in_child=_renew)


def single(tensors: Sequence[Any]) -> Any:
    """The only element of a list.

    Raises:
        ValueError: if there is not exactly one.
    """
    if len(tensors) != 1:
        raise ValueError(f"jccl takes one tensor (or list) per call and rank, not {len(tensors)}")
    return tensors[0]


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


def fitting(number: int, size: int, tensor: Tensor, output: Tensor) -> None:
    """Checks that the output fits the input of an operation among ``size`` ranks.

    Raises:
        ValueError: otherwise.
    """
    operation = OPERATIONS[number]
    part, rest = divmod(tensor.numel(), operation.in_size(1, size))
    same = output.dtype == tensor.dtype
    if rest or not same or output.numel() != operation.out_size(part, size):
        raise ValueError(
            f"{operation.name} of {tensor.numel()} elements of {tensor.dtype} by {size} ranks "
            f"does not fit {output.numel()} elements of {output.dtype}"
        )
