"""The handles of operations, and the thread that completes their futures."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import torch
from torch._C._distributed_c10d import Work
from torch.distributed import DistBackendError
from torch.futures import Future

from jccl.torch.tensors import Copies, Writes

if TYPE_CHECKING:
    from jccl.bindings.protocol import Binding

IN_PROGRESS: Final = 7
SLICE_MS: Final = 100
"""Longest time that a waiting thread stays in the library before Python may look for signals."""

_NO_LIMIT: Final = timedelta(0)


def untraced(function: Callable[..., Any]) -> Any:
    """Marks a function so that torch.compile calls it instead of tracing into it.

    The attribute is what torch._dynamo.disable sets on its wrapper; setting it alone neither
    imports dynamo nor puts a wrapper on the way of every call. The type is Any because torch's
    stubs have overloads that no backend written in Python takes over.
    """
    function._torchdynamo_disable = True  # type: ignore[attr-defined]
    function._torchdynamo_disable_msg = "jccl calls into native code"  # type: ignore[attr-defined]
    return function


class DoneWork(Work):
    """The handle of an operation that was over when its call returned."""

    @untraced
    def wait(self, timeout: timedelta = _NO_LIMIT) -> bool:
        """True at once."""
        return True

    @untraced
    def is_completed(self) -> bool:
        """True."""
        return True

    @untraced
    def is_success(self) -> bool:
        """True: a failed synchronous operation raised."""
        return True

    @untraced
    def exception(self) -> None:
        """None: a failed synchronous operation raised."""

    @untraced
    def synchronize(self) -> None:
        """Nothing is left to wait for."""

    @untraced
    def result(self) -> list[torch.Tensor]:
        """Refused: one handle stands for all synchronous operations."""
        raise RuntimeError(
            "a synchronous operation's result is in its tensors; async_op=True gives a handle "
            "with result()"
        )

    @untraced
    def get_future(self) -> Future[list[torch.Tensor]]:
        """Refused: one handle stands for all synchronous operations."""
        raise RuntimeError(
            "a synchronous operation has no future; async_op=True gives a handle with get_future()"
        )


class QueuedWork(Work):
    """The handle of an asynchronous operation.

    Args:
        native: the C door.
        writes: that of the communicator; its lock guards the handle's state too.
        comm: the communicator's handle.
        ticket: the operation's ticket, 0 if it was complete when started.
        result: the tensors that the operation fills.
        sources: what must stay alive besides until it is over.
        copies: what is copied once the operation has succeeded, before anybody sees that.
        source_rank: the sender, for a receive.
    """

    def __init__(
        self,
        native: Binding,
        writes: Writes,
        comm: int,
        ticket: int,
        result: list[torch.Tensor],
        sources: Any = None,
        copies: Copies = (),
        source_rank: int = -1,
    ) -> None:
        super().__init__()
        self._native = native
        self._writes = writes
        self._comm = comm
        self._ticket = ticket
        self._result = result
        self._sources = sources
        self._copies = copies
        self._rank = source_rank
        self._settled = False
        self._error: str | None = None
        self._completion: Future[None] | None = None
        self._future: Future[list[torch.Tensor]] | None = None
        if not ticket:
            self._settle(0)

    @untraced
    def wait(self, timeout: timedelta = _NO_LIMIT) -> bool:
        """Lends the thread to the communicator until the operation is over.

        Args:
            timeout: how long to wait; zero means no limit but the group's.

        Raises:
            DistBackendError: the operation failed, or the limit passed and it goes on.
        """
        if not self._settled:
            limit = timeout.total_seconds()
            deadline = time.monotonic() + limit if limit > 0 else None
            poll = self._native.poll
            try:
                while (code := poll(self._comm, self._ticket, _slice(deadline))) == IN_PROGRESS:
                    if deadline is not None and time.monotonic() > deadline:
                        raise DistBackendError(
                            f"the operation was not over {limit:g} s after wait() began; "
                            "it stays queued"
                        )
                    if self._settled:
                        break
                else:
                    self._settle(code)
            except DistBackendError:
                raise
            except BaseException:
                # By a signal handler, such as Ctrl-C's: the tensors are the caller's again.
                self.revoke()
                raise
        if self._error is not None:
            raise DistBackendError(self._error)
        return True

    def look(self) -> bool:
        """Whether the operation is over, with no wait."""
        if not self._settled:
            code = self._native.poll(self._comm, self._ticket, 0)
            if code != IN_PROGRESS:
                self._settle(code)
        return self._settled

    def _settle(self, code: int) -> None:
        error = failure(self._native, code, self._comm) if code else None
        with self._writes.lock:
            if error is None and self._copies:
                try:
                    self._writes.copy(self._copies)
                except DistBackendError as e:
                    error = str(e)
                except Exception as e:
                    error = f"copying the result failed: {e}"
            # A signal handler may have ended the handle meanwhile.
            self.end(error)

    def end(self, error: str | None) -> None:
        """Decides how the operation has ended, unless that is decided."""
        with self._writes.lock:
            if not self._settled:
                self._error = error
                self._copies, self._sources = (), None
                self._settled = True

    def fail(self, sentence: str) -> None:
        """Ends the communicator and the handle with an error, since nobody knows how it stands."""
        try:
            self._native.comm_interrupt(self._comm)
        finally:
            self.end(sentence)
            self.complete()

    def revoke(self) -> None:
        """Ends the communicator and the handle by its user's interrupt.

        When it returns nobody writes into the tensors, neither the library nor who copies a
        result. The future is left to its thread: callbacks are no business of an interrupt.
        """
        try:
            self._native.comm_interrupt(self._comm)
        finally:
            self.end("the operation was interrupted by its user")

    @untraced
    def is_completed(self) -> bool:
        """Whether the operation is over, well or badly."""
        return self.look()

    @untraced
    def is_success(self) -> bool:
        """Whether the operation is over and succeeded."""
        return self.look() and self._error is None

    @untraced
    def exception(self) -> DistBackendError | None:
        """The operation's error, or None."""
        return None if not self.look() or self._error is None else DistBackendError(self._error)

    @untraced
    def synchronize(self) -> None:
        """As wait()."""
        self.wait()

    @untraced
    def result(self) -> list[torch.Tensor]:
        """The tensors that the operation filled, after waiting for it."""
        self.wait()
        return self._result

    @untraced
    def _source_rank(self) -> int:
        return self._rank

    @untraced
    def get_future(self) -> Future[list[torch.Tensor]]:
        """A future of the tensors that the operation fills.

        An error is set by a callback that raises, because torch's C++ side does not see
        Future.set_exception.
        """
        with self._writes.lock:
            if self._future is not None:
                return self._future
            completion: Future[None] = Future()
            self._completion = completion
            self._future = completion.then(self._value)
        future = self._future
        # Registered first, looked at second: an operation that ends in between is seen by one
        # of the two.
        if not self._settled:
            _completer.add(self)
        if self.look():
            self.complete()
        return future

    def _value(self, _: Future[None]) -> list[torch.Tensor]:
        if self._error is not None:
            raise DistBackendError(self._error)
        return self._result

    def complete(self) -> None:
        """Completes the future, if one was taken, and runs its callbacks on this thread."""
        with self._writes.lock:
            completion, self._completion = self._completion, None
        if completion is not None:
            completion.set_result(None)


class _Completer:
    """The daemon thread ``jccl-futures``: completes the futures of queued operations in order.

    torch runs a future's callbacks, any Python code, on the thread that completes it; so no
    thread of the library does that.
    """

    def __init__(self) -> None:
        # Written by threads that take futures, read and cleared by the thread; under _lock.
        self._waiting: list[QueuedWork] = []
        self._lock = threading.Lock()
        self._some = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, work: QueuedWork) -> None:
        with self._lock:
            self._waiting.append(work)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="jccl-futures", daemon=True)
                self._thread.start()
        self._some.set()

    def _run(self) -> None:
        seen = 0
        while True:
            self._some.wait()
            with self._lock:
                works = list(self._waiting)
                if not works:
                    self._some.clear()
                    continue
            over = [work for work in works if _is_over(work)]
            with self._lock:
                gone = set(map(id, over))
                self._waiting = [work for work in self._waiting if id(work) not in gone]
            for work in over:
                work.complete()
            if not over:
                _, seen = works[0]._native.wait_completion(seen, 1000)
            # A work kept in a local would keep its tensors until the next one comes.
            del works, over


def _is_over(work: QueuedWork) -> bool:
    """As ``look``; what that raises ends one work and not the thread, which all need."""
    try:
        return work.look()
    except Exception as e:
        work.fail(f"looking at the operation failed: {e!r}")
        return True


_completer = _Completer()


def _renew() -> None:
    """In a forked child: the thread is not there, and the lock may be held for ever."""
    global _completer
    _completer = _Completer()


os.register_at_fork(after_in_child=_renew)


def _slice(deadline: float | None) -> int:
    """Milliseconds to stay in the library, at a time, until the deadline of a wait."""
    if deadline is None:
        return SLICE_MS
    return max(1, min(SLICE_MS, round(1000 * (deadline - time.monotonic()))))


def failure(native: Binding, code: int, comm: int) -> str:
    """The sentence of an error code."""
    kind = f"{native.get_error_string(code)} (ncclResult_t {code})"
    sentence = native.get_last_error(comm)
    return f"{sentence}: {kind}" if sentence else kind
