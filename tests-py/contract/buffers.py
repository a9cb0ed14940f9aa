"""Makes buffers of two kinds, without numpy: arrays of Python, and memory that Java allocated."""

from __future__ import annotations

import array
import importlib
import sys
from typing import Any

import jccl.core

# The types that Python has, and their letters.
LETTERS = {
    "INT8": "b",
    "UINT8": "B",
    "INT32": "i",
    "UINT32": "I",
    "INT64": "q",
    "UINT64": "Q",
    "FLOAT32": "f",
    "FLOAT64": "d",
}
KINDS = ("array", "java")


def _java_memory(size: int) -> Any:
    """Zeroed memory outside of Python's, with the buffer protocol."""
    if sys.implementation.name == "graalpy":
        byte_buffer = importlib.import_module("java").type("java.nio.ByteBuffer")
        return memoryview(byte_buffer.allocateDirect(size))
    if "_jep" in sys.modules:
        byte_buffer = importlib.import_module("jep").findClass("java.nio.ByteBuffer")
        return memoryview(byte_buffer.allocateDirect(size))
    import ctypes

    memory = jccl.core.mem_alloc(size)
    view = (ctypes.c_char * size).from_address(memory.handle)
    view._memory = memory  # type: ignore[attr-defined]
    return memoryview(view)


def new(kind: str, type_name: str, values: Any) -> Any:
    """A buffer of a kind with these elements; ``content`` reads it."""
    elements = array.array(LETTERS[type_name], values)
    if kind == "array":
        return elements
    memory = _java_memory(max(1, len(elements) * elements.itemsize)).cast("B")
    if not elements:
        return memory[:0].cast(LETTERS[type_name])
    view = memory.cast(LETTERS[type_name])
    view[:] = memoryview(elements)
    return view


def content(buffer: Any) -> list[Any]:
    """The elements of a buffer."""
    return list(buffer.tolist())
