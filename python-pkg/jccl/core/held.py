"""Buffers that operations may still use when nobody else knows their communicator any more."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from jccl.core.errors import INVALID_ARGUMENT, SUCCESS

# By communicator handle: they outlive a Communicator object that is dropped early. Written under
# the GIL by the calling threads.
held: dict[int, list[object]] = {}

# Handles of communicators whose objects were lost, and which the library has not ended yet.
_lost: list[int] = []


def lose(handle: int, drop: Callable[[int], int]) -> bool:
    """Has a communicator ended whose object is garbage; whether its end has begun by this."""
    code = drop(handle)
    if code == INVALID_ARGUMENT:
        return False
    # Without buffers only an end that could not begin is of interest: it is tried again.
    if held.get(handle) or code != SUCCESS:
        _lost.append(handle)
    else:
        held.pop(handle, None)
    return code == SUCCESS


def forget_lost(drop: Callable[[int], int]) -> None:
    """Lets the buffers of lost communicators go that have ended."""
    for handle in list(_lost):
        # Any other answer, such as that of a full heap, leaves open whether they are in use.
        if drop(handle) == INVALID_ARGUMENT:
            held.pop(handle, None)
            # A collection in between may have come here, too.
            with contextlib.suppress(ValueError):
                _lost.remove(handle)
