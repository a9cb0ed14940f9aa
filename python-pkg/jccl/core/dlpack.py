"""DLPack capsules, read without consuming them."""

from __future__ import annotations

import ctypes
from typing import Any

from jccl.core import refusals
from jccl.core.types import NcclInvalid

_HOST_DEVICES = (1, 3)  # kDLCPU, kDLCUDAHost
_CUDA_DEVICES = (2, 13)  # kDLCUDA, kDLCUDAManaged
_READ_ONLY = 1
_IS_COPIED = 2
_NO_WAIT = -1

_BOOL = (6, 8)
# From (type code, bits) of a DLDataType to the number of the ncclDataType_t.
_TYPES = {
    (0, 8): 0,
    (0, 32): 2,
    (0, 64): 4,
    (1, 8): 1,
    (1, 32): 3,
    (1, 64): 5,
    (2, 16): 6,
    (2, 32): 7,
    (2, 64): 8,
    (4, 16): 9,
    _BOOL: 1,
    (10, 8): 10,
    (12, 8): 11,
}


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor),)


class _ManagedVersioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
_pointer.restype = ctypes.c_void_p
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes = (ctypes.py_object, ctypes.c_char_p)
_is_valid.restype = ctypes.c_int


def resolve_dlpack(
    buffer: Any, name: str, writable: bool, on_device: bool = False
) -> tuple[int, int, int, object, bool]:
    """(address, count, type, what keeps the memory, is it bool) of an object with ``__dlpack__``.

    Raises:
        NcclInvalid: if it is not contiguous memory of the host (or, with ``on_device``, of a GPU)
            of a type that NCCL knows, or is read-only and ``writable`` is True.
    """
    device = int(buffer.__dlpack_device__()[0]) if hasattr(buffer, "__dlpack_device__") else 1
    if on_device and device not in _CUDA_DEVICES:
        raise refusals.not_on_device(name, f"memory of DLPack device {device}")
    if not on_device and device not in _HOST_DEVICES:
        where = "CUDA memory" if device in _CUDA_DEVICES else f"memory of DLPack device {device}"
        raise refusals.not_on_host(name, where)
    try:
        capsule = _export(buffer, on_device)
    except (BufferError, TypeError, ValueError, RuntimeError) as e:
        raise NcclInvalid(f"{name} cannot be exported by DLPack: {e}") from e
    flags, tensor = _open(capsule, name)
    if writable and flags & _READ_ONLY:
        raise refusals.read_only(name)
    if writable and flags & _IS_COPIED:
        raise NcclInvalid(
            f"{name} exports a copy by DLPack, which the operation cannot write to: pass its owner"
        )
    dtype = _TYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if dtype is None:
        parts = f"{tensor.code}, {tensor.bits}, {tensor.lanes}"
        raise refusals.element_type(name, f"DLPack ({parts})")
    shape = tensor.shape[: tensor.ndim] if tensor.ndim else []
    strides = tensor.strides if tensor.strides and 0 not in shape else None
    count = 1
    for axis in range(tensor.ndim - 1, -1, -1):
        if strides and shape[axis] > 1 and strides[axis] != count:
            raise refusals.strided(name)
        count *= shape[axis]
    # The capsule's destructor releases the export, so the result keeps the capsule.
    address = (tensor.data or 0) + tensor.byte_offset
    return address, count, dtype, (buffer, capsule), (tensor.code, tensor.bits) == _BOOL


def _export(buffer: Any, on_device: bool) -> object:
    # The caller says in which stream the call is, so the owner has no stream to wait for.
    stream: dict[str, Any] = {"stream": _NO_WAIT} if on_device else {}
    try:
        return buffer.__dlpack__(max_version=(1, 0), **stream)
    except TypeError:
        return buffer.__dlpack__(**stream)


def _open(capsule: object, name: str) -> tuple[int, _Tensor]:
    if _is_valid(capsule, b"dltensor_versioned"):
        versioned = _ManagedVersioned.from_address(_pointer(capsule, b"dltensor_versioned"))
        if versioned.major != 1:
            raise NcclInvalid(f"{name} speaks DLPack {versioned.major}; JCCL knows version 1")
        return versioned.flags, versioned.tensor
    if _is_valid(capsule, b"dltensor"):
        return 0, _Managed.from_address(_pointer(capsule, b"dltensor")).tensor
    raise NcclInvalid(f"{name} exports a DLPack capsule that is already used")
