"""A binding without a library: it records calls and gives scripted answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
from jccl.bindings import load

COMM = 0x1000
CHILD = 0x2000
NRANKS = 4
RANK = 1

_ANSWERS: dict[str, Any] = {
    "get_version": (0, 23203),
    "version_string": "0.0.0",
    "get_error_string": "some text",
    "get_last_error": "the sentence",
    "get_unique_id": (0, bytes(range(128))),
    "comm_init_rank_scalable": (0, COMM),
    "comm_split": (0, CHILD),
    "comm_count": (0, NRANKS),
    "comm_user_rank": (0, RANK),
    "comm_cu_device": (0, -1),
    "comm_get_async_error": (0, 0),
    "comm_shrink": (5, 0),
    "comm_grow": (5, 0),
    "comm_get_unique_id": (5, b""),
    "comm_mem_stats": (5, 0),
    "red_op_create_pre_mul_sum": (0, 5),
    "comm_drop": 4,
    "share": None,
}


class _Block:
    """Does what the extension's block does, by the functions of the binding in use."""

    def __init__(self, started: Callable[[int], object], ended: Callable[..., Any]) -> None:
        self._started = started
        self._ended = ended

    def __enter__(self) -> None:
        code = load().group_start()
        if code:
            self._started(code)

    def __exit__(self, kind: Any, *_: Any) -> Any:
        library = load()
        if kind is not None:
            library.all_reduce(0, 0, 0, 0, 0, 0, 0)
        try:
            code = library.group_end()
        except BaseException:
            self._ended(-1, True)
            raise
        return self._ended(code, kind is not None)


class FakeBinding:
    """Satisfies jccl.bindings.Binding.

    Attributes:
        calls: (name, arguments) of every call so far.
        answers: what a function returns; without an entry the success that fits it.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.answers: dict[str, Any] = dict(_ANSWERS)
        self._depth = 0

    def _answer(self, name: str, depth: int) -> Any:
        self._depth += depth
        self.calls.append((name, ()))
        return self.answers.get(name, 0)

    def group_start(self) -> Any:
        return self._answer("group_start", 1)

    def group_end(self) -> Any:
        return self._answer("group_end", -1)

    def group_simulate_end(self) -> Any:
        return self._answer("group_simulate_end", -1)

    def group_depth(self) -> int:
        return self._depth

    def memory(self, owner: Any, _writable: bool) -> tuple[int, int]:
        whole = numpy.asarray(owner)
        return whole.ctypes.data, whole.size

    def on_arrays(self, *_: Any) -> Any:
        """Leaves every call to the long way, unless there is an answer. Keeps no array."""
        return self.answers.get("on_arrays", -1)

    def group_block(self, started: Callable[[int], object], ended: Callable[..., Any]) -> _Block:
        return _Block(started, ended)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)

        def call(*args: Any) -> Any:
            self.calls.append((name, args))
            return self.answers.get(name, 0)

        return call

    def last(self, name: str) -> tuple[Any, ...]:
        """Arguments of the last call of a function."""
        return next(args for called, args in reversed(self.calls) if called == name)

    def count(self, name: str) -> int:
        """How often a function was called."""
        return sum(called == name for called, _ in self.calls)


class Interrupted:
    """Calls another library; Ctrl-C arrives when one of its functions has returned."""

    def __init__(self, library: Any, function: str) -> None:
        self._library = library
        self._function = function

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._library, name)
        if name != self._function:
            return function

        def call(*args: Any) -> Any:
            function(*args)
            raise KeyboardInterrupt

        return call
