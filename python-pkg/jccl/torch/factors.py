"""torch's PREMUL_SUM: sums in which each rank first multiplies its input by a factor."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.distributed import DistBackendError, ReduceOp

from jccl.torch.arguments import TYPES, Reduction
from jccl.torch.work import failure

if TYPE_CHECKING:
    from jccl.bindings.protocol import Binding

_KEPT: Final = 1024
"""How many reductions to keep for later calls: training uses a few factors again and again."""

_IMMEDIATE: Final = 1
"""ncclScalarHostImmediate: the library reads the factor at once."""


class Factors:
    """The premultiplied sums of one communicator, by factor and type."""

    def __init__(self, native: Binding) -> None:
        self._native = native
        self._lock = threading.Lock()
        self._numbers: dict[tuple[bytes, torch.dtype], int] = {}

    def reduction(self, reduce_op: ReduceOp, dtype: torch.dtype, handle: int) -> Reduction:
        """The library's type and operation.

        Raises:
            TypeError: the library does not reduce this type.
            ValueError: the factor is not in host memory, or no number of this type.
        """
        kind = TYPES.get(dtype)
        if kind is None:
            raise TypeError(f"jccl cannot reduce {dtype} by PREMUL_SUM")
        state: Any = reduce_op.__getstate__()
        given = state[1]
        factor = torch.as_tensor(given).detach()
        if not factor.is_cpu:
            raise ValueError(
                f"the factor of PREMUL_SUM is on {factor.device}; pass a number, or a CPU tensor"
            )
        element = _converted(factor, dtype)
        key = (bytes(element.view(torch.uint8).tolist()), dtype)
        with self._lock:
            number = self._numbers.pop(key, None)
            if number is None:
                number = self._create(element, kind, handle)
            # The last used is the last to be given up.
            self._numbers[key] = number
        return kind, number

    def _create(self, element: torch.Tensor, kind: int, handle: int) -> int:
        code, number = self._native.red_op_create_pre_mul_sum(
            element.data_ptr(), kind, _IMMEDIATE, handle
        )
        if code:
            raise DistBackendError(failure(self._native, code, handle))
        if len(self._numbers) >= _KEPT:
            oldest = next(iter(self._numbers))
            self._native.red_op_destroy(self._numbers.pop(oldest), handle)
        return number


def _converted(factor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The factor as one element of the type, as JCCL's own conversions round it."""
    if factor.is_complex():
        raise ValueError("the factor of PREMUL_SUM is complex; pass a real number")
    given = factor.reshape(1)
    if dtype.is_floating_point:
        if dtype.itemsize == 1:
            # torch makes NaN of what is too large for 8 bits.
            most = torch.finfo(dtype).max
            given = given.double().clamp(-most, most)
        return given.to(dtype)
    number = given.item()
    limits = torch.iinfo(dtype)
    if number != number // 1 or not limits.min <= number <= limits.max:
        raise ValueError(f"the factor of PREMUL_SUM is {number}, which is no {dtype}; pass one")
    return given.to(dtype)
