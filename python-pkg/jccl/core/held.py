"""Buffers that operations may still use when nobody else knows their communicator any more."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable

from jccl._numbers import INVALID_ARGUMENT, SUCCESS


class Kept:
    """The objects that must live until operations are over, in the order of their start.

    Any thread adds entries, and any thread that has learned that operations are over takes them
    out. Each step is atomic under the GIL, and no two entries have one number: two threads that
    take out at once take out the same entries, and none that was added meanwhile.
    """

    __slots__ = ("_entries", "_numbers")

    def __init__(self) -> None:
        self._entries: dict[int, object] = {}
        self._numbers = itertools.count()

    def append(self, entry: object) -> None:
        """Keeps what an operation uses that has been started."""
        self._entries[next(self._numbers)] = entry

    def mark(self) -> int:
        """A mark for ``forget``: the operations of older entries have been started by now."""
        return next(self._numbers)

    def forget(self, mark: int) -> None:
        """Lets go of what is older than ``mark``."""
        for number in list(self._entries):
            if number < mark:
                self._entries.pop(number, None)

    def clear(self) -> None:
        """Lets go of everything."""
        self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)


# By communicator handle: they outlive a Communicator object that is dropped early. Written under
# the GIL by the calling threads.
held: dict[int, Kept] = {}

# Handles of communicators whose objects were lost, and which the library has not ended yet.
_lost: list[int] = []


def lose(handle: int, drop: Callable[[int], int]) -> bool:
    """Ends a communicator whose object is garbage; returns whether its end has begun by this."""
    code = drop(handle)
    if code == INVALID_ARGUMENT:
        # It was ended by somebody who did not know of the buffers.
        held.pop(handle, None)
        return False
    # It is remembered if there are buffers, or if its end could not begin and is tried again.
    if held.get(handle) or code != SUCCESS:
        _lost.append(handle)
    else:
        held.pop(handle, None)
    return code == SUCCESS


def forget_lost(drop: Callable[[int], int]) -> None:
    """Lets go of the buffers of lost communicators that have ended."""
    for handle in list(_lost):
        # Any other answer, such as that of a full heap, leaves open whether they are in use.
        if drop(handle) == INVALID_ARGUMENT:
            held.pop(handle, None)
            # A garbage collection in between may have done the same.
            with contextlib.suppress(ValueError):
                _lost.remove(handle)
