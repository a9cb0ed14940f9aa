"""Lets backend "jccl" run on torch before 2.13, as some machines with GPUs have it.

There a ProcessGroup in Python takes no store, and a Backend cannot be written in Python. What asks
a group for its backend does not work: device_id, and DDP's logging of it.
"""

from __future__ import annotations

import types
from typing import Any

import jccl.torch
from jccl.torch import creation, group
from torch.distributed import ProcessGroup


class _NoBackend:
    def __init__(self, _group: object, _rank: int, _size: int, timeout: Any) -> None:
        self.timeout = timeout


class _OlderGroup(ProcessGroup):
    def __init__(self, store: Any, rank: int, size: int) -> None:
        ProcessGroup.__init__(self, rank, size)
        self._own_store = store

    def _register_backend(self, *_: object) -> None:
        pass

    def _set_default_backend(self, *_: object) -> None:
        pass

    def get_group_store(self) -> Any:
        return self._own_store

    def _set_group_name(self, name: str) -> None:
        self._own_name = name

    def _set_group_desc(self, description: str) -> None:
        self._own_description = description

    @property
    def group_name(self) -> Any:
        return self._own_name

    @property
    def group_desc(self) -> Any:
        return self._own_description


def _rebased(cls: Any) -> Any:
    """The same class on another base."""

    class ProcessGroupJccl(_OlderGroup):
        pass

    left = ("__init__", "__dict__", "__weakref__", "__module__", "__doc__", "__qualname__")
    for name, value in cls.__dict__.items():
        if name not in left:
            setattr(ProcessGroupJccl, name, value)
    code, names = cls.__init__.__code__, cls.__init__.__globals__
    cell = (types.CellType(ProcessGroupJccl),)
    init: Any = types.FunctionType(code, names, "__init__", None, cell)
    ProcessGroupJccl.__init__ = init  # type: ignore[method-assign]
    return ProcessGroupJccl


class _Options:
    enable_reconfigure = False

    def __init__(self, options: Any) -> None:
        self._options = options

    def __getattr__(self, name: str) -> Any:
        return getattr(self._options, name)


def register() -> None:
    """Makes the backend known."""
    made, creating, grouping = creation.create, vars(creation), vars(group)
    creating["create"] = lambda options, backend: made(_Options(options), backend)
    grouping["GroupBackend"] = _NoBackend
    grouping["ProcessGroupJccl"] = _rebased(group.ProcessGroupJccl)
    jccl.torch.register()
