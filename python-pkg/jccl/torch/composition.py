"""Copies, sends and receives that an operation makes in its turn."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Final

import torch

from jccl._numbers import RECV, SEND, UINT8
from jccl.torch.arguments import HOST, checked, moved

Tensor = torch.Tensor

Call = tuple[int, int, int, int, int, int, int]
"""Operation, send address, receive address, count, type, reduction, root or peer."""

_OVERLAPS: Final = 1


def is_lazy(tensor: Tensor) -> bool:
    """Whether the tensor's memory holds its elements negated or conjugated."""
    return tensor.is_neg() or tensor.is_conj()


def resolved(tensor: Tensor) -> Tensor:
    """A tensor whose memory holds its elements as they are; the same one if it is not lazy."""
    return tensor.resolve_conj().resolve_neg()


class Composition:
    """The copies, sends and receives of one operation, which the library makes in its turn.

    Inputs are read when the collectives called before are over, and outputs are written when the
    operation ends, even if nobody looks at its handle.

    Args:
        settle: waits until those collectives are over, for inputs that only torch can read.
        exchanges: whether the operation consists of sends and receives.
        device: where its tensors are.

    Attributes:
        kept: the tensors that must live until the operation is over.
        lazy: targets and sources of copies that only torch can make, after the operation; so its
            caller must wait for it.
    """

    __slots__ = (
        "_after",
        "_afters",
        "_before",
        "_befores",
        "_device",
        "_exchanges",
        "_settle",
        "_transfers",
        "kept",
        "lazy",
    )

    def __init__(
        self,
        settle: Callable[[], None],
        *,
        exchanges: bool = False,
        device: torch.device = HOST,
    ) -> None:
        self._settle = settle
        self._device = device
        self._exchanges = exchanges
        self._before: list[int] = []
        self._befores = 0
        self._after: list[int] = []
        self._afters = 0
        self._transfers: list[int] = []
        self.kept: list[Tensor] = []
        self.lazy: list[tuple[Tensor, Tensor]] = []

    def reads(self, tensor: Tensor) -> Tensor:
        """A contiguous tensor that holds an input's elements when the operation begins."""
        checked(tensor, self._device)
        self.kept.append(tensor)
        if is_lazy(tensor):
            # The memory does not hold the elements as they are: only torch computes them.
            self._settle()
            buffer = resolved(tensor).contiguous()
        elif tensor.is_contiguous():
            return tensor
        else:
            buffer = torch.empty(tensor.shape, dtype=tensor.dtype, device=self._device)
            self.copy_before(buffer, tensor)
        self.kept.append(buffer)
        return buffer

    def writes(self, tensor: Tensor) -> Tensor:
        """A contiguous tensor in which an output's elements may arrive."""
        checked(tensor, self._device)
        self.kept.append(tensor)
        if tensor.is_contiguous() and not is_lazy(tensor):
            return tensor
        buffer = torch.empty(tensor.shape, dtype=tensor.dtype, device=self._device)
        self.kept.append(buffer)
        self.deliver(tensor, buffer)
        return buffer

    def updates(self, tensor: Tensor) -> Tensor:
        """A contiguous tensor for elements that the operation reads and replaces."""
        buffer = self.reads(tensor)
        if buffer is not tensor:
            self.deliver(tensor, buffer)
        return buffer

    def reads_in_a_row(self, tensors: list[Tensor], beside: Tensor, rank: int) -> int:
        """The address of memory in which inputs lie one after the other.

        Args:
            tensors: the inputs, one for each rank, all alike.
            beside: the other buffer of the operation.
            rank: this rank.
        """
        if self._lie_in_a_row(tensors, beside, rank):
            return tensors[0].data_ptr()
        buffer = self._row(tensors)
        for part, tensor in zip(buffer, tensors, strict=True):
            source = self.reads(tensor) if is_lazy(tensor) else tensor
            self.copy_before(part.view(source.shape), source)
        return buffer.data_ptr()

    def writes_in_a_row(self, tensors: list[Tensor], beside: Tensor, rank: int) -> int:
        """The address of memory in which outputs, likewise, may arrive one after the other."""
        if self._lie_in_a_row(tensors, beside, rank):
            return tensors[0].data_ptr()
        buffer = self._row(tensors)
        for part, tensor in zip(buffer, tensors, strict=True):
            self.deliver(tensor, part)
        return buffer.data_ptr()

    def _lie_in_a_row(self, tensors: list[Tensor], beside: Tensor, rank: int) -> bool:
        """Whether the tensors lie one after the other, and do not overlap the other buffer.

        The other buffer may be the rank's own part of them: the operation is then in place.
        """
        self.kept += tensors
        first = at = checked(tensors[0], self._device).data_ptr()
        part = tensors[0].nbytes
        for tensor in tensors:
            if (
                checked(tensor, self._device).data_ptr() != at
                or not tensor.is_contiguous()
                or is_lazy(tensor)
            ):
                return False
            at += part
        other = beside.data_ptr()
        return other + part <= first or at <= other or other == first + rank * part

    def _row(self, tensors: list[Tensor]) -> Tensor:
        shape = len(tensors), tensors[0].numel()
        buffer = torch.empty(shape, dtype=tensors[0].dtype, device=self._device)
        self.kept.append(buffer)
        return buffer

    def deliver(self, tensor: Tensor, buffer: Tensor) -> None:
        """Fills an output from a part of a contiguous buffer.

        Raises:
            ValueError: several elements of the output share memory.
        """
        self.kept.append(checked(tensor, self._device))
        buffer = buffer.view(tensor.shape)
        if torch._debug_has_internal_overlap(tensor) == _OVERLAPS:
            raise ValueError(
                "jccl cannot write into a tensor whose elements share memory, such as an expanded "
                f"one: shape {tuple(tensor.shape)}, strides {tensor.stride()}; pass its clone()"
            )
        if is_lazy(tensor):
            self.lazy.append((tensor.detach(), buffer))
        else:
            self.copy_after(tensor, buffer)

    def copy_before(self, target: Tensor, source: Tensor) -> None:
        """Copies between tensors of one shape when the operation begins."""
        if source.numel():
            self._befores += 1
            _describe(self._before, target, source)

    def copy_after(self, target: Tensor, source: Tensor) -> None:
        """Copies between tensors of one shape when the operation has succeeded."""
        if source.numel():
            self._afters += 1
            _describe(self._after, target, source)

    def send(self, tensor: Tensor, peer: int) -> None:
        """Adds the sending of a tensor to another rank, who may expect more if it is empty."""
        self._transfer(SEND, self.reads(tensor), peer)

    def receive(self, tensor: Tensor, peer: int) -> None:
        """Adds the receiving of a tensor from another rank."""
        self._transfer(RECV, self.writes(tensor), peer)

    def _transfer(self, way: int, buffer: Tensor, peer: int) -> None:
        # Ranks that have nothing for each other need not agree on its type.
        count, kind = moved(buffer) if buffer.numel() else (0, UINT8)
        self._transfers += (way, buffer.data_ptr(), count, kind, peer)

    def words(self, call: Call) -> array[int] | None:
        """The words for jcclStartComposed; None if jcclStart is enough."""
        if not (self._befores or self._afters or self._exchanges):
            return None
        counts = (self._befores, len(self._transfers) // 5, self._afters)
        return array("q", [*call, *counts, *self._before, *self._transfers, *self._after])


def _describe(words: list[int], target: Tensor, source: Tensor) -> None:
    """Appends the words of a copy between tensors of one shape and type."""
    size = source.element_size()
    words += (source.data_ptr(), target.data_ptr(), size, source.dim())
    for extent, away, there in zip(source.shape, source.stride(), target.stride(), strict=True):
        words += (extent, away * size, there * size)
