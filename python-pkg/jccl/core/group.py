"""Groups: several calls that are launched together."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from jccl._numbers import IN_PROGRESS, SUCCESS
from jccl.bindings import load
from jccl.core.errors import check, failure

if TYPE_CHECKING:
    from jccl.core.calls import Calls


@dataclass(frozen=True)
class GroupSimInfo:
    """The answer of a simulated group. That is not done yet: nothing returns one.

    Attributes:
        estimated_time: in microseconds, as the C value is.
    """

    estimated_time: float


_Call: TypeAlias = "tuple[Calls, object]"


class _Queued(threading.local):
    """The communicators and buffers of the calls in the group that this thread has open."""

    def __init__(self) -> None:
        self.calls: list[_Call] = []


queued = _Queued()


def group_start() -> None:
    """Opens a group, or a nested one, on this thread."""
    check(load().group_start())


def group_end(*, simulate: bool = False) -> GroupSimInfo | None:
    """Closes the group; the outermost end launches the calls made since its start.

    Args:
        simulate: not done yet: the group ends, nothing is launched, and NOT_DONE_YET is raised.

    Raises:
        NCCLError: the first error of a call inside the group, in which case nothing is launched;
            or the error of an operation, in which case the others may be done.
    """
    library = load()
    before = library.group_depth()
    try:
        code = library.group_simulate_end() if simulate else library.group_end()
    except BaseException:
        # A signal handler has raised, perhaps before the call, perhaps after everything was queued.
        if before and library.group_depth() == before:
            library.abandon_group()
            library.group_end()
        _ended(_INTERRUPTED, True)
        raise
    _ended(code, False)
    return None


_INTERRUPTED = -1


def _ended(code: int, raised: bool) -> bool:
    """Tidies up after a group was closed; raises its error unless the body has raised one."""
    calls: list[_Call] = []
    try:
        if load().group_depth() == 0:
            calls, queued.calls = queued.calls, []
        # Before the communicators are asked what is under way, which may fail, too.
        why = None if raised else failure(code)
        for comm, buffers in _under_way(code, calls):
            comm._hold(buffers)
    except BaseException:
        code = _INTERRUPTED
        raise
    finally:
        if code == _INTERRUPTED:
            for comm in {comm for comm, _ in calls}:
                comm._end_queued()
    if why is not None:
        raise why
    return False


def _under_way(code: int, calls: list[_Call]) -> list[_Call]:
    """The calls of a closed group whose operations may still run.

    The error may belong to one communicator, while the operations of others were launched.
    """
    if code in (SUCCESS, IN_PROGRESS):
        return calls if code == IN_PROGRESS else []
    busy = {comm for comm in {comm for comm, _ in calls} if comm._is_busy()}
    return [call for call in calls if call[0] in busy]


def group() -> contextlib.AbstractContextManager[None, bool | None]:
    """A block whose calls are launched together at its end.

    When the body raises, nothing of the group is launched: half of it would only leave the
    peers waiting.
    """
    return load().group_block(check, _ended)
