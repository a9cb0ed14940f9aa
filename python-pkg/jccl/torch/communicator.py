"""A group's communicator, which all operations of the group use."""

from __future__ import annotations

import sys
import threading
import time
from array import array
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.autograd import profiler
from torch.distributed import DistBackendError, ReduceOp

from jccl._numbers import ALL_TO_ALL, IN_PROGRESS, RECV, SEND
from jccl._operations import OPERATIONS
from jccl.torch.arguments import PREMUL_SUM, Reduction, reduction, seconds
from jccl.torch.composition import Call, Composition
from jccl.torch.factors import Factors
from jccl.torch.futures import completer
from jccl.torch.tensors import Writes
from jccl.torch.work import DoneWork, QueuedWork, SeveralWorks, StartedWork, failure

if TYPE_CHECKING:
    from jccl.bindings.protocol import Binding

Part = tuple[Call, Composition]
"""One call of several that ``run_all`` makes."""

DONE: Final = DoneWork()

SHUTDOWN_LIMIT_S = 10.0
"""How long shutdown waits for operations whose peers do not come."""

# The exceptions of a call that started nothing or whose operation failed.
_REFUSALS: Final = (DistBackendError, OverflowError, TypeError)

_KEPT_WORKS: Final = 4096
# How many handles each start of an operation looks at; it must be more than it adds.
_LOOKS: Final = 2


def _references(works: deque[Any]) -> int:
    """How many references the first element has, as this function counts them."""
    return sys.getrefcount(works[0])


_ALONE: Final = _references(deque([object()]))
"""The number of references to an element that only the deque holds."""


class Communicator:
    """A communicator of the library and the operations in flight on it.

    Every operation is started in the asynchronous form: the library advances it as far as it can
    without waiting, and queues the rest, in order, in the communicator.

    Args:
        native: the binding.
        handle: the communicator, made with blocking=0 and ready.
        timeout: the time limit of each operation.
    """

    def __init__(self, native: Binding, handle: int, timeout: timedelta) -> None:
        self.native = native
        self.handle = handle
        # Handles of operations that are under way or that somebody else holds. Threads that start
        # operations append to it; rotating it and taking from the left needs the lock of writes.
        self.works: deque[StartedWork] = deque()
        # Handles, without tensors, of finished operations that nobody in Python holds but whose C++
        # half may be in use. Appended under the lock of writes.
        self._finished: deque[StartedWork] = deque(maxlen=_KEPT_WORKS)
        # The handles of each thread's open batch. Only that thread writes its own.
        self._batches: dict[int, list[Any]] = {}
        self.writes = Writes()
        self._factors = Factors(native)
        # Whether a thread has begun to shut the communicator down; guarded by the lock of writes.
        self._finalizing = False
        self.set_timeout(timeout)

    def set_timeout(self, timeout: timedelta) -> None:
        """Sets the time limit of operations that start from now on."""
        milliseconds = max(1, round(seconds(timeout) * 1000))
        self.check(self.native.comm_options(self.handle, milliseconds))

    def reduction(self, reduce_op: ReduceOp, dtype: torch.dtype) -> Reduction:
        """The library's type and operation for a reduction; raises as ``arguments.reduction``."""
        if hash(reduce_op) == PREMUL_SUM:
            return self._factors.reduction(reduce_op, dtype, self.handle)
        return reduction(reduce_op, dtype)

    def check(self, code: int) -> None:
        """Raises DistBackendError unless the code is success or in progress."""
        if code and code != IN_PROGRESS:
            reason = self.writes.ended
            if reason is not None and not self.handle:
                raise DistBackendError(f"{reason}, and takes no more operations")
            raise DistBackendError(failure(self.native, code, self.handle))

    def composition(self, *, exchanges: bool = False) -> Composition:
        """A new one, for the next collective; ``exchanges`` if it is sends and receives."""
        return Composition(self.drain, exchanges=exchanges)

    def transfer(self) -> Composition:
        """A new one, for a send or receive, which is in no order with collectives."""
        return Composition(_nothing)

    def run(
        self,
        call: Call,
        waits: bool,
        result: list[torch.Tensor],
        composition: Composition | None = None,
        source_rank: int = -1,
        *,
        recorded: bool = False,
    ) -> DoneWork | StartedWork:
        """Starts one operation and returns its handle, with ``waits`` when it is over.

        Args:
            call: the operation.
            waits: whether to wait for its end.
            result: the tensors that it fills.
            composition: the copies, sends and receives that belong to it; a send or a receive has
                one even if it copies nothing.
            source_rank: the sender, for a receive.
            recorded: whether torch's profiler, if it is on, knows of the operation already.
        """
        if profiler._is_profiler_enabled and not recorded:
            seen: DoneWork | StartedWork
            seen = self.record(event(call), call, waits, result, composition, source_rank)
            return seen
        if composition is not None and composition.lazy:
            return self._run_lazy(call, waits, result, composition)
        native, handle = self.native, self.handle
        words = composition.words(call) if composition is not None else None
        if waits:
            if words is None:
                code = native.run(*call, handle)
            else:
                address, count = words.buffer_info()
                code = native.run_composed(address, count, handle)
            if code:
                self.check(code)
            self.look_back()
            return DONE
        work = None
        try:
            code, ticket = self._start(call, words)
            if code != IN_PROGRESS:
                self.check(code)
                ticket = 0
            work = QueuedWork(native, self.writes, handle, ticket, result)
            if composition is not None:
                work.sender = source_rank
                work.lane = call[0] in (SEND, RECV)
                if ticket:
                    work.sources = composition.kept
            return self._queue(work)
        except _REFUSALS:
            raise
        except BaseException:
            self._revoke(work)
            raise

    def record(self, name: str, call: Call, *rest: Any) -> Any:
        """As ``run``; torch's profiler shows the call.

        The event ends with the call, even if the operation goes on: torch writes the end of an
        event into memory that it frees with the profile, so none may end later than that.

        Args:
            name: what the profiler shows behind "jccl:".
            call: the operation.
            rest: the other arguments of ``run``.
        """
        with profiler.record_function(f"jccl:{name}"):
            return self.run(call, *rest, recorded=True)

    def _run_lazy(
        self, call: Call, waits: bool, result: list[torch.Tensor], composition: Composition
    ) -> DoneWork | StartedWork:
        lazy, composition.lazy = composition.lazy, []
        self.run(call, True, result, composition, recorded=True)
        self.writes.copy(lazy)
        return self.over(waits, result)

    def _start(self, call: Call, words: array[int] | None) -> tuple[int, int]:
        if words is None:
            return self.native.start(*call, self.handle)
        address, count = words.buffer_info()
        return self.native.start_composed(address, count, self.handle)

    def run_all(
        self, parts: list[Part], waits: bool, result: list[torch.Tensor]
    ) -> DoneWork | StartedWork:
        """As ``run`` for several operations, one after the other; returns one handle for all."""
        works: list[StartedWork] = []
        try:
            for call, composition in parts:
                work = self.run(call, waits, [], composition)
                if isinstance(work, StartedWork):
                    works.append(work)
            if waits:
                return DONE
            return self._queue(SeveralWorks(self.native, self.writes, self.handle, works, result))
        except _REFUSALS:
            raise
        except BaseException:
            self._revoke(None)
            raise

    def _revoke(self, work: StartedWork | None) -> None:
        """Ends everything under way after code that started operations ended early, as by Ctrl-C.

        The caller then takes the buffers for its own again. When this returns, the library does not
        write into them any more.

        Args:
            work: the operation's handle, which the caller does not get.
        """
        if work is not None:
            work.revoke()
        else:
            self.native.comm_interrupt(self.handle)

    def over(self, waits: bool, result: list[torch.Tensor]) -> DoneWork | StartedWork:
        """The handle of an operation that is already complete."""
        if waits:
            return DONE
        return self._queue(QueuedWork(self.native, self.writes, self.handle, 0, result))

    def begin_batch(self) -> None:
        """Makes the calling thread's operations one batch, until ``end_batch``.

        torch does not end a batch whose body raises. Such a batch is forgotten when the next one
        begins or when it grows large.
        """
        self._batches[threading.get_ident()] = []

    def end_batch(self) -> Any:
        """The handle of all operations of the calling thread's batch."""
        return self._handle_of(self._batches.pop(threading.get_ident(), []))

    def _handle_of(self, works: list[Any]) -> Any:
        return self._queue(SeveralWorks(self.native, self.writes, self.handle, works))

    def drain(self) -> None:
        """Waits for the started collectives, but not for sends and receives.

        Raises:
            DistBackendError: a collective has failed.
        """
        for work in list(self.works):
            if not work.lane:
                work.wait()

    def _queue(self, work: StartedWork) -> StartedWork:
        """Keeps a handle, and what its operation uses, until the operation is over."""
        self.works.append(work)
        if self._batches:
            self._add_to_batch(work)
        self.look_back(1)
        return work

    def _add_to_batch(self, work: Any) -> None:
        me = threading.get_ident()
        batch = self._batches.get(me)
        if batch is not None:
            batch.append(work)
            if len(batch) > _KEPT_WORKS:
                del self._batches[me]

    def look_back(self, but: int = 0) -> None:
        """Looks at the oldest handles and lets go of those whose operations are over.

        It leaves the newest ``but`` handles alone, and keeps handles of operations under way and
        those that somebody holds: on average each of these is looked at once while as many
        operations start as there are such handles.
        """
        works = self.works
        for _ in range(min(_LOOKS, len(works) - but)):
            try:
                over = works[0].is_settled() or works[0].look()
            except IndexError:
                return
            with self.writes.lock:
                if works is not self.works or not works:
                    return  # Another thread has ended them all.
                if over and works[0].is_settled() and _references(works) == _ALONE:
                    work = works.popleft()
                    work.let_go()
                    self._finished.append(work)
                else:
                    # One step, so that a signal handler never finds it missing.
                    works.rotate(-1)

    def shutdown(self) -> None:
        """Waits a bounded time for the queue to empty, then ends the communicator."""
        native, handle = self.native, self.handle
        if handle:
            with self.writes.lock:
                first, self._finalizing = not self._finalizing, True
            # Another thread may have begun to finalize.
            code = native.comm_finalize(handle) if first else IN_PROGRESS
            pause = 0.0
            deadline = time.monotonic() + SHUTDOWN_LIMIT_S
            while code == IN_PROGRESS and time.monotonic() < deadline:
                time.sleep(pause)
                pause = min(pause + 0.0002, 0.005)
                state, code = native.comm_get_async_error(handle)
                code = state or code
            # Operations that are over keep the library's result: the shutdown must not fail them.
            for work in list(self.works):
                work.look()
            if code:
                self.gave_up(failure(native, code, handle))
                self.abort("the group was shut down after an error, or with operations under way")
                return
        self._end(native.comm_destroy, "the group was shut down")

    def gave_up(self, sentence: str) -> None:
        """Told why operations are given up at a shutdown. Their handles say so, too."""

    def abort(self, reason: str = "the group was aborted") -> None:
        """Ends everything on the communicator at once; peers see a remote error.

        After it returns, neither the library nor a thread that copies a result writes into callers'
        tensors. The exception is a signal handler that aborts inside such a copy: it returns into
        the copy, which goes on to its end.
        """
        self._end(self.native.comm_abort, reason)

    def _end(self, end: Callable[[int], int], reason: str) -> None:
        """Ends the communicator, or waits until another thread has ended it."""
        works: deque[StartedWork] = deque()
        with self.writes.lock:
            handle, self.handle = self.handle, 0
            if handle:
                self.writes.ended = reason
                try:
                    end(handle)
                finally:
                    works, self.works = self.works, deque()
                    for work in works:
                        work.end(reason)
        completer().hand_over(works)


def event(call: Call) -> str:
    """What torch's profiler calls an operation, behind the backend's name."""
    return "all_to_all" if call[0] == ALL_TO_ALL else OPERATIONS[call[0]].function


def _nothing() -> None:
    """Waits for nothing."""
