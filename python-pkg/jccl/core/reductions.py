"""Reductions that a program creates: sums in which each rank multiplies its input first."""

from __future__ import annotations

import array
import struct
from typing import TYPE_CHECKING, Any

from jccl.core.buffers import resolve
from jccl.core.errors import check
from jccl.core.types import STRUCT_FORMATS, NcclDataType, NcclInvalid

if TYPE_CHECKING:
    from jccl.bindings import Binding

#: ncclScalarHostImmediate: the factor is read at once.
_IMMEDIATE = 1


class CustomRedOp:
    """A reduction of one communicator, to be passed as ``op`` in place of SUM.

    Close it after the last call that uses it; calls made before go on.
    """

    def __init__(self, library: Binding, op: int, comm: int) -> None:
        self._library = library
        self._op = op
        self._comm = comm
        self._open = True

    @property
    def op(self) -> int:
        """The number of the reduction (``ncclRedOp_t``)."""
        return self._op

    @property
    def is_valid(self) -> bool:
        """Whether it has not been closed."""
        return self._open

    def __int__(self) -> int:
        return self._op

    def __index__(self) -> int:
        return self._op

    def close(self) -> None:
        """Destroys the reduction. Does nothing if it is closed or the communicator has ended."""
        if self._open:
            self._open = False
            self._library.red_op_destroy(self._op, self._comm)


def pre_mul_sum(
    library: Binding, comm: int, scalar: Any, datatype: NcclDataType | None
) -> CustomRedOp:
    """Creates a sum of inputs; this rank first multiplies its own by ``scalar``."""
    if isinstance(scalar, (int, float)):
        kind, kept = _packed(scalar, datatype)
        pointer = kept.buffer_info()[0]
    else:
        buffer = resolve(scalar, "scalar")
        if buffer.count != 1 or (datatype is not None and int(datatype) != buffer.dtype):
            wanted = "" if datatype is None else f" of {NcclDataType(datatype).name}"
            raise NcclInvalid(
                f"scalar has {buffer.count} elements of {NcclDataType(buffer.dtype).name}:"
                f" pass one element{wanted}"
            )
        kind, pointer = buffer.dtype, buffer.ptr
    code, op = library.red_op_create_pre_mul_sum(pointer, kind, _IMMEDIATE, comm)
    check(code)
    return CustomRedOp(library, op, comm)


def _packed(scalar: float, datatype: NcclDataType | None) -> tuple[int, array.array[int]]:
    if datatype is None:
        raise NcclInvalid(f"scalar is {scalar!r}: pass datatype, or an array of one element")
    kind = int(datatype)
    letter = STRUCT_FORMATS.get(kind)
    if letter is None:
        raise NcclInvalid(
            f"Python has no numbers of {NcclDataType(kind).name}: pass an array of one element"
        )
    try:
        return kind, array.array("B", struct.pack(letter, scalar))
    except (struct.error, OverflowError) as error:
        raise NcclInvalid(f"scalar {scalar!r} is no {NcclDataType(kind).name}: {error}") from None
