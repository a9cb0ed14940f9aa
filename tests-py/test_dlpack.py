"""DLPack capsules that no library at hand exports: offsets, copies, vectors, other versions."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import pytest
from jccl.core import NcclDataType, NcclInvalid, resolve

_new = ctypes.pythonapi.PyCapsule_New
_new.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_new.restype = ctypes.py_object

_VERSIONED = b"dltensor_versioned"
READ_ONLY, IS_COPIED = 1, 2


class HandMade:
    """Exports float32 elements by a capsule whose every field can be chosen."""

    def __init__(
        self,
        *shape: int,
        offset: int = 0,
        lanes: int = 1,
        flags: int = 0,
        major: int = 1,
        name: bytes = _VERSIONED,
        strides: tuple[int, ...] | None = None,
    ) -> None:
        self.memory = ctypes.create_string_buffer(4096)
        self.name = name
        self._shape = (ctypes.c_int64 * len(shape))(*shape)
        self._strides = None if strides is None else (ctypes.c_int64 * len(strides))(*strides)
        at_strides = 0 if self._strides is None else ctypes.addressof(self._strides)
        float32 = (2, 32)
        tensor = struct.pack(
            "=QiiiBBHQQQ",
            ctypes.addressof(self.memory),
            1,
            0,
            len(shape),
            *float32,
            lanes,
            ctypes.addressof(self._shape),
            at_strides,
            offset,
        )
        head = struct.pack("=IIQQQ", major, 0, 0, 0, flags) if name == _VERSIONED else b""
        self._struct = ctypes.create_string_buffer(head + tensor)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **options: Any) -> Any:
        return _new(ctypes.addressof(self._struct), self.name, None)


@pytest.mark.parametrize("name", [_VERSIONED, b"dltensor"])
@pytest.mark.parametrize("offset", [0, 8, 1024])
def test_elements_begin_at_the_offset(offset: int, name: bytes) -> None:
    exporter = HandMade(3, 5, offset=offset, name=name)
    buffer = resolve(exporter, "x")
    assert buffer.ptr == ctypes.addressof(exporter.memory) + offset
    assert (buffer.count, buffer.dtype) == (15, NcclDataType.FLOAT32)


def test_strides_of_axes_of_one_element_mean_nothing() -> None:
    assert resolve(HandMade(1, 5, strides=(77, 1)), "x").count == 5


@pytest.mark.parametrize("strides", [(1, 3), (6, 1), (5, 2), (0, 1), (-5, 1)])
def test_a_view_with_gaps_is_refused(strides: tuple[int, int]) -> None:
    with pytest.raises(NcclInvalid, match="x is not contiguous"):
        resolve(HandMade(3, 5, strides=strides), "x")


def test_a_copy_may_be_read_but_not_written() -> None:
    assert resolve(HandMade(4, flags=IS_COPIED), "x").count == 4
    with pytest.raises(NcclInvalid, match="x exports a copy by DLPack"):
        resolve(HandMade(4, flags=IS_COPIED), "x", writable=True)


def test_what_is_read_only_is_not_written() -> None:
    assert resolve(HandMade(4, flags=READ_ONLY), "x").count == 4
    with pytest.raises(NcclInvalid, match="x is read-only"):
        resolve(HandMade(4, flags=READ_ONLY), "x", writable=True)


def test_vectors_are_no_elements() -> None:
    with pytest.raises(NcclInvalid, match=r"x has elements of type DLPack \(2, 32, 4\)"):
        resolve(HandMade(4, lanes=4), "x")


def test_another_major_version_is_refused() -> None:
    with pytest.raises(NcclInvalid, match="x speaks DLPack 2; JCCL knows version 1"):
        resolve(HandMade(4, major=2), "x")


def test_a_capsule_that_is_used_is_refused() -> None:
    with pytest.raises(NcclInvalid, match="x exports a DLPack capsule that is already used"):
        resolve(HandMade(4, name=b"used_dltensor_versioned"), "x")
