"""The handles of operations."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import torch
from torch._C._distributed_c10d import Work
from torch._C._dynamo import eval_frame
from torch.distributed import DistBackendError
from torch.futures import Future

from jccl._numbers import IN_PROGRESS
from jccl.torch.futures import completer
from jccl.torch.tensors import Writes

if TYPE_CHECKING:
    from jccl.bindings.protocol import Binding

SLICE_MS: Final = 100
"""How long a waiting thread stays in the library before Python may look for signals."""

_WATCH: Final = -1
"""In place of a time: the end of the operation is to wake the thread that completes futures."""

_NO_LIMIT: Final = timedelta(0)

_SKIP: Final = eval_frame._FrameAction.SKIP
_UNTRACED: Final = eval_frame._FrameExecStrategy(_SKIP, _SKIP)
"""A function is not compiled, and neither is what it calls."""


def untraced(function: Callable[..., Any]) -> Any:
    """Marks a function so that torch.compile calls it instead of tracing into it.

    Nor is it compiled if native code calls it, as DistributedDataParallel's does in the forward of
    a compiled model, nor anything that it calls.

    torch._dynamo.disable sets the same attribute on its wrapper; setting it alone neither imports
    dynamo nor adds a wrapper to every call. The type is Any because torch's stubs have overloads
    that a backend in Python does not need.
    """
    function._torchdynamo_disable = True  # type: ignore[attr-defined]
    function._torchdynamo_disable_msg = "jccl calls into native code"  # type: ignore[attr-defined]
    eval_frame.set_code_exec_strategy(function.__code__, _UNTRACED)
    return function


class DoneWork(Work):
    """The handle of an operation that had ended when its call returned."""

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


class StartedWork(Work):
    """The handle of one or several operations that were started without waiting.

    Subclasses define ``advance``, which finds out whether it is over.

    Args:
        native: the binding.
        writes: the communicator's; its lock also guards the handle's state.
        comm: the communicator's handle.
        result: the tensors that the operation fills.

    Attributes:
        lane: whether it is a send or a receive, which are in no order with collectives.
        sources: other tensors that must stay alive until it is over.
    """

    # What most handles never change belongs to the class, since each start of an operation makes
    # a handle.
    lane = False
    sources: Sequence[torch.Tensor] = ()
    _settled = False
    _error: str | None = None
    # A future of torch's C++ side, whose type torch's stubs lack.
    _completion: Any = None
    _watched = False
    _future: Future[list[torch.Tensor]] | None = None

    def __init__(
        self, native: Binding, writes: Writes, comm: int, result: list[torch.Tensor]
    ) -> None:
        super().__init__()
        self._native = native
        self._writes = writes
        self._comm = comm
        self._result: list[torch.Tensor] | None = result

    @property
    def library(self) -> Binding:
        """The library that runs the operation."""
        return self._native

    def advance(self, ms: int) -> None:
        """Lends the thread for at most ``ms`` milliseconds; calls ``end`` if it is over.

        With 0 or ``_WATCH`` it only looks.
        """
        raise NotImplementedError

    @untraced
    def wait(self, timeout: timedelta = _NO_LIMIT) -> bool:
        """Lends the thread to the communicator until the operation is over.

        Args:
            timeout: how long to wait; a negative one has passed already, and zero means only the
                group's limit.

        Raises:
            DistBackendError: the operation failed, or the limit passed while it goes on.
        """
        if not self._settled:
            limit = timeout.total_seconds()
            deadline = time.monotonic() + limit if limit != 0 else None
            try:
                while True:
                    self.advance(_slice(deadline))
                    if self._settled:
                        break
                    if deadline is not None and time.monotonic() > deadline:
                        raise DistBackendError(
                            f"the operation was not over {max(limit, 0):g} s after wait() began; "
                            "it stays queued"
                        )
            except DistBackendError:
                raise
            except BaseException:
                # A signal handler has raised, such as Ctrl-C's: the tensors are the caller's again.
                self.revoke()
                raise
        if self._error is not None:
            raise DistBackendError(self._error)
        return True

    def look(self) -> bool:
        """Whether the operation is over; does not wait."""
        if not self._settled:
            self.advance(0)
        return self._settled

    def is_settled(self) -> bool:
        """Whether it is known how the operation has ended."""
        return self._settled

    def end(self, error: str | None) -> None:
        """Records how the operation has ended, unless that is recorded already."""
        with self._writes.lock:
            if not self._settled:
                self._error = error
                self.sources = ()
                self._settled = True

    def let_go(self) -> None:
        """Forgets the tensors: the operation is over, and nobody in Python holds its handle."""
        self._result = None

    def fail(self, sentence: str) -> None:
        """Ends communicator and handle with an error: the operation's state is unknown."""
        try:
            self._native.comm_interrupt(self._comm)
        finally:
            self.end(sentence)

    def revoke(self) -> None:
        """Ends the communicator and the handle after its user's interrupt.

        When it returns, nobody writes into the tensors. The future is left to its threads, since an
        interrupt must not run callbacks.
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

    def _tensors(self) -> list[torch.Tensor]:
        if self._result is None:
            raise RuntimeError(
                "the tensors of this operation were let go of, since only C++ code held its handle"
            )
        return self._result

    @untraced
    def result(self) -> list[torch.Tensor]:
        """The tensors that the operation filled, after waiting for it."""
        self.wait()
        return self._tensors()

    @untraced
    def get_future(self) -> Future[list[torch.Tensor]]:
        """A future of the tensors that the operation fills.

        A callback that raises sets its error, because torch's C++ side does not see
        Future.set_exception.
        """
        with self._writes.lock:
            future = self._future
            if future is None:
                # The base class of torch.futures.Future, without its layer of Python.
                completion: Any = torch._C.Future([])
                if self._settled and self._error is None and self._result is not None:
                    completion.set_result(self._result)
                    future = completion
                else:
                    self._completion = completion
                    future = completion.then(self._value)
                self._future = future
            elif self._watched:
                return future
        self._watch()
        return future

    def _watch(self) -> None:
        """Completes the future if the operation is over, else has its end complete it.

        An interrupt may end this early; the next call of get_future begins again.
        """
        if not self._settled:
            threads = completer()
            try:
                threads.add(self)
            except RuntimeError:
                # No thread can be started.
                if not self.look():
                    raise
            # Sees an end that has come, and has a later one counted.
            if not self._settled:
                self.advance(_WATCH)
            if self._settled:
                threads.forget(self)
        if self._settled:
            self.complete()
        self._watched = True

    def _value(self, _: Future[None]) -> list[torch.Tensor]:
        if self._error is not None:
            raise DistBackendError(self._error)
        return self._tensors()

    def has_open_future(self) -> bool:
        """Whether a future was taken and is not complete yet."""
        return self._completion is not None

    def complete(self) -> None:
        """Completes the future, if one was taken, and runs its callbacks on this thread."""
        with self._writes.lock:
            completion, self._completion = self._completion, None
        if completion is not None:
            completion.set_result(None)


class QueuedWork(StartedWork):
    """The handle of one operation.

    Args:
        native: the binding.
        writes: as in ``StartedWork``.
        comm: the communicator's handle.
        ticket: the operation's ticket; 0 if it was complete when started.
        result: the tensors that the operation fills.

    Attributes:
        sender: the rank that sends, for a receive.
    """

    sender = -1

    def __init__(
        self, native: Binding, writes: Writes, comm: int, ticket: int, result: list[torch.Tensor]
    ) -> None:
        super().__init__(native, writes, comm, result)
        self._ticket = ticket
        if not ticket:
            self._settled = True

    def advance(self, ms: int) -> None:
        """Polls the operation's ticket."""
        code = self._native.poll(self._comm, self._ticket, ms)
        if code != IN_PROGRESS:
            self.end(failure(self._native, code, self._comm) if code else None)

    @untraced
    def _source_rank(self) -> int:
        return self.sender


class SeveralWorks(StartedWork):
    """The handle of several operations, which is over when all are.

    Args:
        native: the binding.
        writes: as in ``StartedWork``.
        comm: the communicator's handle.
        works: the handles of the operations.
        result: the tensors that they fill; None: those of the handles.
    """

    def __init__(
        self,
        native: Binding,
        writes: Writes,
        comm: int,
        works: list[StartedWork],
        result: list[torch.Tensor] | None = None,
    ) -> None:
        tensors = result
        if tensors is None:
            tensors = [tensor for work in works for tensor in work._tensors()]
        super().__init__(native, writes, comm, tensors)
        self.lane = all(work.lane for work in works)
        self._works = works
        self.look()

    def advance(self, ms: int) -> None:
        """Waits for the first operation that is not over, or watches all of them."""
        for work in self._works:
            if not work.is_settled():
                work.advance(ms)
            if not work.is_settled() and ms != _WATCH:
                break
        if not all(work.is_settled() for work in self._works):
            return
        errors = [work._error for work in self._works if work._error is not None]
        self.end(errors[0] if errors else None)
        self._works = []


def _slice(deadline: float | None) -> int:
    """How many milliseconds to stay in the library next, in a wait with this deadline."""
    if deadline is None:
        return SLICE_MS
    return max(1, min(SLICE_MS, round(1000 * (deadline - time.monotonic()))))


def failure(native: Binding, code: int, comm: int) -> str:
    """The sentence of an error code."""
    kind = f"{native.get_error_string(code)} (ncclResult_t {code})"
    sentence = native.get_last_error(comm)
    return f"{sentence}: {kind}" if sentence else kind
