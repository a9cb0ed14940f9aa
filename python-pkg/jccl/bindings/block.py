"""The block of a group, for bindings that are written in Python."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Protocol

from jccl._numbers import SUCCESS

_INTERRUPTED = -1


class _Groups(Protocol):
    """What a block needs of its binding."""

    def group_start(self) -> int: ...
    def group_end(self) -> int: ...
    def abandon_group(self) -> int: ...


class GroupBlock:
    """As ``Binding.group_block``."""

    def __init__(
        self,
        binding: _Groups,
        started: Callable[[int], object],
        ended: Callable[[int, bool], bool | None],
    ) -> None:
        self._binding = binding
        self._started = started
        self._ended = ended

    def __enter__(self) -> None:
        code = self._binding.group_start()
        if code != SUCCESS:
            self._started(code)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        try:
            if kind is not None:
                self._binding.abandon_group()
            code = self._binding.group_end()
        except BaseException:
            self._ended(_INTERRUPTED, True)
            raise
        return self._ended(code, kind is not None)
