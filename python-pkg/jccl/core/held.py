"""Keeps buffers alive that operations may still use, even after their Communicator is gone."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable

from jccl._numbers import INVALID_ARGUMENT, SUCCESS


class Kept:
    """The objects that must live until operations are over, in the order of their start.

    Any thread adds entries, and any thread that learns that operations are over removes them. Each
    step is atomic under the GIL, and no two entries share a number: two threads that remove entries
    at once remove the same ones, and none that was added meanwhile.
    """

    __slots__ = ("_entries", "_numbers")

    def __init__(self) -> None:
        self._entries: dict[int, object] = {}
        self._numbers = itertools.count()

    def append(self, entry: object) -> None:
        """Keeps what a started operation uses."""
        self._entries[next(self._numbers)] = entry

    def mark(self) -> int:
        """A mark for ``forget``: the operations of all older entries have been started."""
        return next(self._numbers)

    def forget(self, mark: int) -> None:
        """Lets go of entries older than ``mark``."""
        for number in list(self._entries):
            if number < mark:
                self._entries.pop(number, None)

    def clear(self) -> None:
        """Lets go of everything."""
        self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)


# By communicator handle, so that they outlive a Communicator object that is dropped early. The
# calling threads write it under the GIL.
held: dict[int, Kept] = {}

# Handles of communicators whose objects are gone, but which the library has not ended yet.
_lost: list[int] = []


def lose(handle: int, drop: Callable[[int], int]) -> bool:
    """Ends a communicator whose object is garbage; returns whether this call began its end."""
    code = drop(handle)
    if code == INVALID_ARGUMENT:
        # Somebody has ended it who did not know of the buffers.
        held.pop(handle, None)
        return False
    # Remember it if there are buffers, or if its end could not begin and must be tried again.
    if held.get(handle) or code != SUCCESS:
        _lost.append(handle)
    else:
        held.pop(handle, None)
    return code == SUCCESS


def forget_lost(drop: Callable[[int], int]) -> None:
    """Lets go of the buffers of lost communicators that have ended."""
    for handle in list(_lost):
        # After any other answer, such as that of a full heap, the buffers may still be in use.
        if drop(handle) == INVALID_ARGUMENT:
            held.pop(handle, None)
            # A garbage collection in between may have removed it.
            with contextlib.suppress(ValueError):
                _lost.remove(handle)
