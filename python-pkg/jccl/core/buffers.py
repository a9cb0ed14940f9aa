"""Buffers: whatever a caller passes becomes (address, element count, data type).

Torch tensors and numpy arrays are read by their own methods, all other objects by the buffer
protocol, ``__array_interface__`` or DLPack, in this order; memory of a GPU by
``__cuda_array_interface__`` or DLPack. Nothing is copied. This module imports
neither numpy nor torch: whoever passes an object of theirs has loaded them already.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from jccl.bindings import load
from jccl.core import refusals
from jccl.core.types import BY_NAME, NcclInvalid


class Buffer(NamedTuple):
    """A resolved buffer.

    Attributes:
        ptr: address of the first element.
        count: number of elements.
        dtype: number of the data type (``ncclDataType_t``).
        keep: the objects that keep the memory in place.
        is_bool: whether the elements, which travel as UINT8, are 0 or 1 and nothing else.
    """

    ptr: int
    count: int  # type: ignore[assignment]
    dtype: int
    keep: object
    is_bool: bool = False


_FORMATS = {
    "b": {1: 0},
    "B": {1: 1},
    "c": {1: 1},
    "?": {1: 1},
    "i": {4: 2, 8: 4},
    "l": {4: 2, 8: 4},
    "q": {8: 4},
    "n": {8: 4},
    "I": {4: 3, 8: 5},
    "L": {4: 3, 8: 5},
    "Q": {8: 5},
    "N": {8: 5},
    "e": {2: 6},
    "f": {4: 7},
    "d": {8: 8},
}
_FOREIGN_ORDER = (">", "!") if sys.byteorder == "little" else ("<",)
_TYPESTR_KINDS = {"b": "bool", "i": "int", "u": "uint", "f": "float"}


# Caches by class and by dtype: a repeated call costs one look-up. Any thread reads and writes them
# under the GIL; entries never change.
_by_class: dict[type, Callable[[Any, str, bool, bool], Buffer]] = {}
_torch_types: dict[Any, tuple[int, bool]] = {}
# The extension reads this one, too, and does not check the operation. So bool is left out, for
# which some operations are refused.
_numpy_types: dict[Any, int] = {}


def resolve(buffer: Any, name: str, *, writable: bool = False, on_device: bool = False) -> Buffer:
    """The memory of ``buffer``.

    Args:
        buffer: a host buffer: torch CPU tensor, numpy array, or any object with the buffer
            protocol, ``__array_interface__`` or DLPack; row-major and contiguous. Or a GPU's: torch
            CUDA tensor, or any object with ``__cuda_array_interface__`` or DLPack.
        name: what an error calls it.
        writable: whether the call writes into it.
        on_device: whether it must be a GPU's.

    Raises:
        NcclInvalid: if it is not such a buffer, or is read-only and ``writable`` is True.
    """
    kind = type(buffer)
    known = _by_class.get(kind)
    if known is not None:
        return known(buffer, name, writable, on_device)
    for module, base, resolver in (
        ("torch", "Tensor", _resolve_tensor),
        ("numpy", "ndarray", _resolve_ndarray),
    ):
        if isinstance(buffer, getattr(sys.modules.get(module), base, ())):
            # A class of a script would keep the whole script.
            if kind.__module__ != "__main__":
                _by_class[kind] = resolver
            return resolver(buffer, name, writable, on_device)
    return _resolve_other(buffer, name, writable, on_device)


def _resolve_other(buffer: Any, name: str, writable: bool, on_device: bool) -> Buffer:
    kind = type(buffer)
    interface = getattr(buffer, "__cuda_array_interface__", None)
    if on_device:
        if isinstance(interface, dict):
            return _resolve_interface(interface, buffer, name, writable)
        if hasattr(buffer, "__dlpack_device__"):
            from jccl.core.dlpack import resolve_dlpack

            return Buffer(*resolve_dlpack(buffer, name, writable, on_device))
        raise refusals.not_on_device(name, f"memory of the host ({kind.__name__})")
    if interface is not None:
        raise refusals.not_on_host(name, f"CUDA memory ({kind.__name__})")
    try:
        view = memoryview(buffer)
    except (TypeError, BufferError):
        pass
    else:
        return _resolve_view(view, name, writable)
    interface = getattr(buffer, "__array_interface__", None)
    if isinstance(interface, dict) and interface.get("data") is not None:
        return _resolve_interface(interface, buffer, name, writable)
    if hasattr(buffer, "__dlpack__"):
        # It needs ctypes, which one context alone of a GraalPy process may have.
        from jccl.core.dlpack import resolve_dlpack

        return Buffer(*resolve_dlpack(buffer, name, writable))
    raise NcclInvalid(
        f"{name} is of type {kind.__name__}, which has neither the buffer protocol"
        " nor __array_interface__ nor DLPack: pass an array, a tensor or a bytearray"
    )


def _resolve_tensor(tensor: Any, name: str, _writable: bool, on_device: bool) -> Buffer:
    known = _torch_types.get(tensor.dtype)
    if known is None:
        text = str(tensor.dtype).removeprefix("torch.")
        number = BY_NAME.get(text)
        if number is None:
            raise refusals.element_type(name, tensor.dtype)
        known = _torch_types[tensor.dtype] = number, text == "bool"
    if on_device and tensor.device.type != "cuda":
        raise refusals.not_on_device(name, f"a tensor on {tensor.device}")
    if not on_device and tensor.device.type != "cpu":
        raise refusals.not_on_host(name, f"a tensor on {tensor.device}")
    if str(tensor.layout) != "torch.strided":
        raise NcclInvalid(f"{name} is a tensor of layout {tensor.layout}: pass a dense one")
    if not tensor.is_contiguous():
        raise refusals.strided(name)
    if tensor.is_neg():
        raise NcclInvalid(f"{name} is a lazily negated view: pass its resolve_neg()")
    dtype, is_bool = known
    return Buffer(tensor.data_ptr(), tensor.numel(), dtype, tensor, is_bool)


def _resolve_ndarray(arr: Any, name: str, writable: bool, on_device: bool) -> Buffer:
    if on_device:
        raise refusals.not_on_device(name, "an array of numpy")
    dtype = _numpy_types.get(arr.dtype)
    is_bool = dtype is None and arr.dtype.kind == "b"
    if is_bool:
        dtype = BY_NAME["bool"]
    elif dtype is None:
        if not arr.dtype.isnative:
            raise refusals.byte_order(name, arr.dtype.str)
        number = BY_NAME.get(arr.dtype.name)
        if number is None:
            raise refusals.element_type(name, arr.dtype)
        dtype = _numpy_types[arr.dtype] = number
        load().know_arrays(sys.modules["numpy"].ndarray, _numpy_types)
    flags = arr.flags
    if not flags.c_contiguous:
        raise refusals.strided(name)
    if writable and not flags.writeable:
        raise refusals.read_only(name)
    return Buffer(*load().memory(arr, writable), dtype, arr, is_bool)


def _resolve_view(view: memoryview, name: str, writable: bool) -> Buffer:
    code = view.format
    if code[:1] in _FOREIGN_ORDER and view.itemsize > 1:
        raise refusals.byte_order(name, code)
    kind = code.lstrip("@=<>!")
    dtype = _FORMATS.get(kind, {}).get(view.itemsize)
    if dtype is None:
        raise refusals.element_type(name, repr(code))
    if not view.c_contiguous:
        raise refusals.strided(name)
    if writable and view.readonly:
        raise refusals.read_only(name)
    try:
        # The result keeps the view: a bytearray cannot be resized while a view of it exists.
        return Buffer(*load().memory(view, False), dtype, view, kind == "?")
    except BufferError as error:
        raise NcclInvalid(f"{name} has no address that JCCL can find: {error}") from error


def _resolve_interface(
    interface: dict[str, Any], owner: object, name: str, writable: bool
) -> Buffer:
    typestr = str(interface["typestr"])
    kind, bits = _TYPESTR_KINDS.get(typestr[1:2]), 8 * int(typestr[2:] or 0)
    number = None if kind is None else BY_NAME.get(kind if kind == "bool" else f"{kind}{bits}")
    if number is None:
        raise refusals.element_type(name, typestr)
    if typestr[0] in _FOREIGN_ORDER and bits > 8:
        raise refusals.byte_order(name, typestr)
    pointer, read_only = interface["data"]
    if writable and read_only:
        raise refusals.read_only(name)
    count, expected = 1, bits // 8
    strides = interface.get("strides")
    shape = tuple(interface["shape"])
    for axis in range(len(shape) - 1, -1, -1):
        if strides is not None and 0 not in shape and shape[axis] > 1 and strides[axis] != expected:
            raise refusals.strided(name)
        expected *= shape[axis]
        count *= shape[axis]
    return Buffer(int(pointer), count, number, (owner, interface), kind == "bool")
