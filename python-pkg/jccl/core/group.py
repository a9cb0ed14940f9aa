"""Groups: several calls that are launched together."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jccl.bindings import load
from jccl.core.errors import IN_PROGRESS, check

if TYPE_CHECKING:
    from jccl.core.communicator import Communicator


@dataclass(frozen=True)
class GroupSimInfo:
    """The answer of a simulated group.

    Attributes:
        estimated_time: in microseconds, as the C value is.
    """

    estimated_time: float


class _OpenGroup(threading.local):
    """The group that this thread has open: its depth and the buffers of its queued calls."""

    def __init__(self) -> None:
        self.depth = 0
        self.queued: list[tuple[Communicator, object]] = []


open_group = _OpenGroup()


def group_start() -> None:
    """Opens a group, or a nested one, on this thread."""
    check(load().group_start())
    open_group.depth += 1


def group_end(*, simulate: bool = False) -> GroupSimInfo | None:
    """Closes the group; the outermost end launches what was called since its start.

    Raises:
        NCCLError: with the first error of the whole group; none of its calls is then done.
    """
    library = load()
    try:
        code = library.group_simulate_end(0) if simulate else library.group_end()
    except BaseException:
        # Perhaps by a signal handler, when everything is queued.
        for comm in {comm for comm, _ in open_group.queued} if open_group.depth == 1 else ():
            comm._end_queued()
        _close(still_running=False)
        raise
    _close(still_running=code == IN_PROGRESS)
    check(code)
    return None


def _close(*, still_running: bool) -> None:
    open_group.depth = max(0, open_group.depth - 1)
    if open_group.depth == 0:
        queued, open_group.queued = open_group.queued, []
        if still_running:
            for comm, buffers in queued:
                comm._hold(buffers)


@contextlib.contextmanager
def group() -> Iterator[None]:
    """A block whose calls are launched together at its end.

    When the body raises, nothing of the group is launched: half of it would only leave the
    peers waiting.
    """
    group_start()
    try:
        yield
    except BaseException:
        # A call with a null communicator is an error that the end of the group returns.
        load().all_reduce(0, 0, 0, 0, 0, 0, 0)
        with contextlib.suppress(Exception):
            group_end()
        raise
    group_end()
