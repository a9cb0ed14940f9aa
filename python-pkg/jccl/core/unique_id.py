"""The id by which ranks find each other."""

from __future__ import annotations

import array
from typing import TYPE_CHECKING, Any

from jccl.bindings import load
from jccl.core.errors import check
from jccl.core.types import NcclInvalid

if TYPE_CHECKING:
    import numpy

UNIQUE_ID_BYTES = 128


class UniqueId:
    """The 128 bytes of an ``ncclUniqueId``. They hold a secret: do not print or log them."""

    __slots__ = ("_bytes",)

    def __init__(self) -> None:
        self._bytes = array.array("B", bytes(UNIQUE_ID_BYTES))

    @classmethod
    def from_bytes(cls, b: bytes | bytearray | memoryview) -> UniqueId:
        """The id with these 128 bytes.

        Raises:
            NcclInvalid: if there are not exactly 128.
        """
        content = bytes(b)
        if len(content) != UNIQUE_ID_BYTES:
            raise NcclInvalid(f"a unique id has {UNIQUE_ID_BYTES} bytes, not {len(content)}")
        unique_id = cls()
        unique_id._bytes[:] = array.array("B", content)
        return unique_id

    @property
    def ptr(self) -> int:
        """Address of the bytes, valid as long as this object lives."""
        return self._bytes.buffer_info()[0]

    @property
    def as_bytes(self) -> bytes:
        """A copy of the bytes."""
        return self._bytes.tobytes()

    @property
    def as_ndarray(self) -> numpy.ndarray[Any, numpy.dtype[numpy.uint8]]:
        """The bytes as a writable numpy array that shares them."""
        import numpy

        return numpy.frombuffer(self._bytes, dtype=numpy.uint8)

    def __bytes__(self) -> bytes:
        return self._bytes.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UniqueId) and self._bytes == other._bytes

    def __hash__(self) -> int:
        return hash(self._bytes.tobytes())

    def __repr__(self) -> str:
        return "UniqueId(hidden)"

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return UniqueId.from_bytes, (self._bytes.tobytes(),)


def get_unique_id(empty: bool = False) -> UniqueId:
    """A new id, to be handed to every rank; with ``empty``, 128 zero bytes to be filled in.

    The calling process answers the ranks' first questions, so it must live until all of them
    are initialised.
    """
    if empty:
        return UniqueId()
    code, content = load().get_unique_id()
    check(code)
    return UniqueId.from_bytes(content)
