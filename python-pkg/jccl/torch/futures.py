"""The threads that complete the futures of operations, and so run their users' callbacks."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from jccl.bindings import own_state

if TYPE_CHECKING:
    from jccl.bindings.protocol import Binding
    from jccl.torch.work import StartedWork

_MANY: Final = 4
"""How many callbacks run at a time; more run only if none of these has ended for _STUCK_S."""

_STUCK_S: Final = 0.01
_IDLE_S: Final = 5.0
"""How long a thread without work stays."""

_LENT_MS: Final = 1000
"""How long a thread stays in the library before it looks at its works again."""


class Completer:
    """The daemon threads ``jccl-futures``: they learn that operations are over, and run callbacks.

    torch runs a future's callbacks, which may be any Python code, on the thread that completes it.
    A callback may wait for another operation's future, whose callback waits for a third one. So a
    thread that is about to complete a future leaves another thread to learn of the next end. There
    are a few more threads than callbacks that wait.

    The thread that learns of ends is lent to the library, where it also progresses operations that
    begin. It stays there between operations, so that their start need wake nobody in Python.
    """

    def __init__(self) -> None:
        # All fields are read and written under the lock, which a signal handler on the holding
        # thread may take again; _seen only by the thread that leads. Spare threads are those that
        # run no callback.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._open: list[StartedWork] = []
        self._over: deque[StartedWork] = deque()
        self._spare = 0
        self._running = 0
        self._leading = False
        self._seen = 0
        self._stuck = False
        # The library of the last work; None if it has sent an idle thread back at once.
        self._library: Binding | None = None

    def add(self, work: StartedWork) -> None:
        """Completes the future of an operation when it is over."""
        with self._lock:
            self._open.append(work)
            self._library = work.library
            # The thread that leads hears of the end from the library.
            if not self._leading:
                self._attend(0)

    def forget(self, work: StartedWork) -> None:
        """Lets go of an operation whose future its caller completes."""
        with self._lock:
            self._open = [each for each in self._open if each is not work]

    def hand_over(self, works: Iterable[StartedWork]) -> None:
        """Leaves the futures of operations that are over to the threads. Runs no callback."""
        with self._lock:
            self._over.extend(work for work in works if work.has_open_future())
            if self._over:
                self._attend(int(self._leading))

    def _attend(self, occupied: int) -> None:
        """Makes sure that there are more than ``occupied`` spare threads."""
        if self._spare <= occupied:
            self._spare += 1
            try:
                threading.Thread(target=self._run, name="jccl-futures", daemon=True).start()
            except BaseException:
                self._spare -= 1
                raise
        else:
            self._changed.notify()

    def _run(self) -> None:
        """The loop of a thread, which has been counted as a spare one."""
        while (work := self._next()) is not None:
            try:
                work.complete()
            finally:
                # The local variable would keep the work's tensors until the next work comes.
                del work
                with self._lock:
                    self._running -= 1
                    self._spare += 1
                    self._stuck = False
                    self._changed.notify()

    def _next(self) -> StartedWork | None:
        """The next work to complete; None if the thread is not needed any more."""
        since = time.monotonic()
        with self._lock:
            while True:
                if self._over and (self._running < _MANY or self._stuck):
                    return self._take()
                idle = time.monotonic() - since >= _IDLE_S
                if self._over:
                    self._stuck = not self._changed.wait(_STUCK_S)
                elif not self._leading and (self._open or (self._library and not idle)):
                    if self._open:
                        since = time.monotonic()
                    self._lead()
                elif (idle or not self._changed.wait(_IDLE_S)) and self._is_idle():
                    self._spare -= 1
                    return None

    def _is_idle(self) -> bool:
        """Whether a thread that was not notified has nothing to do: its notice may be lost."""
        return not self._over and (self._leading or not self._open)

    def _take(self) -> StartedWork:
        self._stuck = False
        work = self._over.popleft()
        self._spare -= 1
        if self._over or self._open:
            # If no thread can be started, this one goes on after the callback.
            with contextlib.suppress(RuntimeError):
                self._attend(0)
        self._running += 1
        return work

    def _lead(self) -> None:
        """Waits, without the lock, until an operation is over or a second has passed."""
        works, library = list(self._open), self._library
        sent_back = False
        self._leading = True
        self._changed.release()
        try:
            over = [work for work in works if _is_over(work)]
            if not over and library is not None:
                began, seen = time.monotonic(), self._seen
                _, self._seen = library.wait_completion(seen, _LENT_MS)
                sent_back = self._seen == seen and time.monotonic() - began < _LENT_MS / 2000
        finally:
            del works
            self._changed.acquire()
            self._leading = False
            if sent_back and not self._open:
                self._library = None
        gone = set(map(id, over))
        self._open = [work for work in self._open if id(work) not in gone]
        self._over.extend(over)


def _is_over(work: StartedWork) -> bool:
    """As ``look``; an exception fails this one work, not the thread, which all works need."""
    try:
        return work.look()
    except Exception as e:
        work.fail(f"looking at the operation failed: {e!r}")
        return True


_completer = Completer()


def completer() -> Completer:
    """The completer of this thread's rank, or of the process: callbacks find their rank's world."""
    state = own_state()
    if state is None:
        return _completer
    own: Completer = state.get("completer") or state.setdefault("completer", Completer())
    return own


def _renew() -> None:
    """Starts afresh in a forked child, which has no such threads; the lock may be held for ever."""
    global _completer
    _completer = Completer()


os.register_at_fork(after_in_child=_renew)
