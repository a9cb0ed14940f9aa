"""Memory that the library allocates."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, SupportsIndex

from jccl.bindings import load
from jccl.core.errors import check
from jccl.core.types import NcclInvalid

if TYPE_CHECKING:
    from jccl.bindings import Binding


class Memory:
    """Zeroed host memory from ``mem_alloc``.

    It can be passed as a buffer of UINT8; ``numpy.asarray(memory).view("float32")`` is an array of
    floats in it. It is freed by ``close``, or when neither this object nor an array in it is left.
    """

    def __init__(self, library: Binding, ptr: int, size: int) -> None:
        self._library = library
        self._ptr = ptr
        self._size = size
        self._open = True

    @property
    def handle(self) -> int:
        """The address of the first byte; 0 if the size is 0."""
        return self._ptr

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self._size

    @property
    def is_valid(self) -> bool:
        """Whether the memory has not been freed."""
        return self._open

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if not self._open:
            raise NcclInvalid("the memory has been freed: allocate another one by mem_alloc")
        return {"version": 3, "shape": (self._size,), "typestr": "|u1", "data": (self._ptr, False)}

    def close(self) -> None:
        """Frees the memory. Nothing may use it any more, not even an operation under way.

        A second call does nothing.

        Raises:
            NCCLError: the library does not know the address (docs/errors.md#not_allocated).
        """
        if self._open:
            self._open = False
            check(self._library.mem_free(self._ptr))

    def __del__(self) -> None:
        if self._open:
            self._open = False
            self._library.mem_free(self._ptr)


def mem_alloc(size: SupportsIndex, device: None = None) -> Memory:
    """Allocates memory for buffers of host communicators (``ncclMemAlloc``).

    Operations also accept any other host memory.

    Args:
        size: the size in bytes, 0 or more.
        device: None, which means the host.

    Raises:
        NcclInvalid: ``device`` is not None (docs/errors.md#python_memory).
        OverflowError: ``size`` is negative or larger than C's size_t.
        NCCLError: the system does not have that much memory
            (docs/errors.md#shared_memory_refused), or the size exceeds the address space
            (docs/errors.md#count_overflow).
    """
    if device is not None:
        raise NcclInvalid(f"mem_alloc allocates on the host, not on {device}: pass None")
    library, n = load(), operator.index(size)
    code, ptr = library.mem_alloc(n)
    check(code)
    return Memory(library, ptr, n)


def mem_free(memory: Memory) -> None:
    """Frees memory from ``mem_alloc`` (``ncclMemFree``); the same as ``memory.close()``."""
    memory.close()
