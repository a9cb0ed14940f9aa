"""The binding for Jep: CPython that a Java VM has started in its process."""

from __future__ import annotations

import ctypes
import faulthandler
import importlib
import os
import sys
from typing import Any, cast

from jccl.bindings.guest import GuestBinding, check_version
from jccl.bindings.protocol import Binding

_WRITABLE = 0x1
_ROW_MAJOR = 0x20 | 0x10 | 0x08


class _View(ctypes.Structure):
    """Py_buffer."""

    _fields_ = (
        ("memory", ctypes.c_void_p),
        ("owner", ctypes.py_object),
        ("bytes", ctypes.c_ssize_t),
        ("item_bytes", ctypes.c_ssize_t),
        ("read_only", ctypes.c_int),
        ("dimensions", ctypes.c_int),
        ("format", ctypes.c_void_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    )


_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = (ctypes.py_object, ctypes.POINTER(_View), ctypes.c_int)
_get_buffer.restype = ctypes.c_int
_release = ctypes.pythonapi.PyBuffer_Release
_release.argtypes = (ctypes.POINTER(_View),)
_release.restype = None


class _Jep:
    """See ``jccl.bindings.guest.Host``."""

    def __init__(self) -> None:
        self.java: Any = importlib.import_module("jep").findClass

    def attach(self) -> None:
        rank: Any = sys.modules.get("_jccl_rank")
        if rank is not None:
            rank.attach()

    def memory(self, owner: object, writable: bool) -> tuple[int, int]:
        view = _View()
        # An exception of the buffer protocol goes on.
        _get_buffer(owner, ctypes.byref(view), _ROW_MAJOR | (_WRITABLE if writable else 0))
        try:
            return view.memory or 0, view.bytes // (view.item_bytes or 1)
        finally:
            _release(ctypes.byref(view))


def _is_main_interpreter() -> bool:
    python = ctypes.pythonapi
    python.PyInterpreterState_Get.restype = ctypes.c_void_p
    python.PyInterpreterState_GetID.argtypes = (ctypes.c_void_p,)
    python.PyInterpreterState_GetID.restype = ctypes.c_int64
    return bool(python.PyInterpreterState_GetID(python.PyInterpreterState_Get()) == 0)


def _without_effect(*_: object, **__: object) -> bool:
    """Stands for functions of faulthandler, which would take the signals that HotSpot needs."""
    return False


def load() -> Binding | None:
    """The binding of this process; None if its Java VM has no JCCL on its class path.

    Raises:
        ImportError: if Java has another version, or this is a SubInterpreter.
    """
    if not _is_main_interpreter():
        raise ImportError(
            "this is a SubInterpreter of Jep, in which torch and numpy end the process: use"
            " SharedInterpreter, one for each rank"
        )
    try:
        binding = GuestBinding(_Jep())
    except Exception as error:
        # Jep gives Java's exceptions the class Exception of Python, or one derived from it.
        if "org.jccl" not in str(error).replace("/", "."):
            raise
        return None
    check_version(binding)
    os.register_at_fork(after_in_child=binding.refuse_in_child)
    for name in ("enable", "disable", "register", "unregister"):
        setattr(faulthandler, name, _without_effect)
    return cast(Binding, binding)
