"""Memory that the library allocates."""

from __future__ import annotations

import operator
import os
from typing import TYPE_CHECKING, Any, SupportsIndex

from jccl.bindings import load
from jccl.core.errors import check
from jccl.core.types import NcclInvalid

if TYPE_CHECKING:
    from jccl.bindings import Binding


class Memory:
    """Memory from ``mem_alloc``: zeroed and of the host, or of the GPU that JCCL_DEVICE names.

    It can be passed as a buffer of UINT8. ``numpy.asarray(memory).view("float32")``, or
    ``torch.as_tensor(memory, device="cuda").view(torch.float32)`` on a GPU, is an array of floats
    in it. It is freed by ``close``, or when neither this object nor an array in it is left.
    """

    def __init__(self, library: Binding, ptr: int, size: int, *, on_device: bool = False) -> None:
        self._library = library
        self._ptr = ptr
        self._size = size
        self._on_device = on_device
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
        return self._interface(False)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self._interface(True)

    def _interface(self, on_device: bool) -> dict[str, Any]:
        if on_device != self._on_device:
            # So that hasattr says no: numpy would read a GPU's address, and torch a host's.
            raise AttributeError(f"the memory is {'a GPU' if self._on_device else 'the host'}'s")
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
    """Allocates memory for buffers (``ncclMemAlloc``).

    Operations also accept any other memory of the host or the GPU.

    Args:
        size: the size in bytes, 0 or more.
        device: None, which means what ``JCCL_DEVICE`` names, and the host where it is not set.

    Raises:
        NcclInvalid: ``device`` is not None (docs/errors.md#python_memory).
        OverflowError: ``size`` is negative or larger than C's size_t.
        NCCLError: the system does not have that much memory
            (docs/errors.md#shared_memory_refused), or the size exceeds the address space
            (docs/errors.md#count_overflow). ``JCCL_DEVICE`` names no device
            (docs/errors.md#device_unknown).
    """
    if device is not None:
        raise NcclInvalid(f"mem_alloc allocates where JCCL_DEVICE says, not on {device}: pass None")
    library, n = load(), operator.index(size)
    code, ptr = library.mem_alloc(n)
    check(code)
    on_device = os.environ.get("JCCL_DEVICE", "").strip() not in ("", "host")
    return Memory(library, ptr, n, on_device=on_device)


def mem_free(memory: Memory) -> None:
    """Frees memory from ``mem_alloc`` (``ncclMemFree``); the same as ``memory.close()``."""
    memory.close()
