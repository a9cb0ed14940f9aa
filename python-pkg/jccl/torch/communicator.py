"""A group's communicator: what the operations of a group have in common."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.distributed import DistBackendError

from jccl.torch.arguments import RECV, SEND, moved
from jccl.torch.tensors import Copies, Writes
from jccl.torch.work import IN_PROGRESS, DoneWork, QueuedWork, failure

if TYPE_CHECKING:
    from jccl.bindings.protocol import Binding

Call = tuple[int, int, int, int, int, int, int]
"""operation, send address, receive address, count, type, reduction operation, root or peer."""

DONE: Final = DoneWork()

SHUTDOWN_LIMIT_S = 10.0
"""How long a group that is shut down waits for operations whose peers do not come."""

# What a call raises that has started nothing, or whose operation has failed.
_REFUSALS: Final = (DistBackendError, OverflowError, TypeError)

_KEPT_WORKS: Final = 4096
_KEPT_BYTES: Final = 64 << 20
# What a look at an operation under way is worth: it takes less time than moving so much.
_BYTES_A_LOOK: Final = 16 << 10


class Communicator:
    """A communicator of the library and the operations in flight on it.

    Every operation is started in the asynchronous form: the library advances it as far as it
    goes without waiting, and what is left stands in the communicator's in-order queue.

    Args:
        native: the C door.
        handle: the communicator, made with blocking=0 and ready.
        timeout: limit of each operation.
    """

    def __init__(self, native: Binding, handle: int, timeout: timedelta) -> None:
        self.native = native
        self.handle = handle
        # Works in order of their start, but that those under way which were passed over stand
        # behind. Appended by whoever starts an operation; turned, and taken from the left, under
        # the lock of writes only. They stay for a while after they are over, since C++ code may
        # hold no more than its half of a work.
        self._works: deque[tuple[QueuedWork, int]] = deque()
        self._kept_bytes = 0
        # How far both may grow beyond what is kept before they are looked at again. Written and
        # read by whoever starts an operation; a stale value makes a look early or late.
        self._more_works = 0
        self._more_bytes = 0
        self.writes = Writes()
        # Whether a thread has begun to shut the communicator down; under the lock of writes.
        self._finalizing = False
        self.set_timeout(timeout)

    def set_timeout(self, timeout: timedelta) -> None:
        """Sets the limit of the operations that start from now on."""
        milliseconds = max(1, round(timeout.total_seconds() * 1000))
        self.check(self.native.comm_options(self.handle, milliseconds))

    def check(self, code: int) -> None:
        """Raises DistBackendError unless the code is success or in progress."""
        if code and code != IN_PROGRESS:
            raise DistBackendError(failure(self.native, code, self.handle))

    def run(
        self,
        call: Call,
        waits: bool,
        result: list[torch.Tensor],
        sources: Any = None,
        copies: Copies = (),
        source_rank: int = -1,
    ) -> DoneWork | QueuedWork:
        """Starts one operation; its handle, which is over already with ``waits``."""
        native, handle = self.native, self.handle
        if waits:
            code = native.run(*call, handle)
            if code:
                self.check(code)
            return self._done(copies)
        with _Watch(self) as watch:
            code, ticket = native.start(*call, handle)
            self.check(code)
            ticket = ticket if code else 0
            watch.work = QueuedWork(
                native, self.writes, handle, ticket, result, sources, copies, source_rank
            )
            return self._queue(watch.work, result)

    def run_all(
        self,
        calls: list[Call],
        waits: bool,
        result: list[torch.Tensor],
        sources: Any = None,
        copies: Copies = (),
    ) -> DoneWork | QueuedWork:
        """As ``run`` for operations that are one group."""
        native, handle = self.native, self.handle
        with _Watch(self) as watch:
            ticket = self._start_all(calls) if calls else 0
            if not waits:
                watch.work = QueuedWork(
                    native, self.writes, handle, ticket, result, sources, copies
                )
                return self._queue(watch.work, result)
            if ticket:
                self.check(native.wait(handle, ticket))
        return self._done(copies)

    def _done(self, copies: Copies) -> DoneWork:
        """The handle of an operation that is complete, once its result is where it belongs."""
        if copies:
            self.writes.copy(copies)
        return DONE

    def over(self, waits: bool, result: list[torch.Tensor]) -> DoneWork | QueuedWork:
        """The handle of what is complete already."""
        if waits:
            return DONE
        return self._queue(QueuedWork(self.native, self.writes, self.handle, 0, result), result)

    def _start_all(self, calls: list[Call]) -> int:
        """Starts operations as one group; their ticket, 0 if all are complete already."""
        native, handle = self.native, self.handle
        failed = 0
        try:
            self.check(native.start_group())
            for call in calls:
                code, _ = native.start(*call, handle)
                if code and code != IN_PROGRESS:
                    failed = code
                    sentence = failure(native, code, handle)
                    break
        finally:
            code, ticket = native.end_group(handle)
        if failed:
            raise DistBackendError(sentence)
        self.check(code)
        return ticket if code else 0

    def _queue(self, work: QueuedWork, result: list[torch.Tensor]) -> QueuedWork:
        """Keeps a handle, and what its operation uses, until that is over."""
        size = sum(t.nbytes for t in result if t.layout is torch.strided)
        self._works.append((work, size))
        self._kept_bytes += size
        if (
            len(self._works) > _KEPT_WORKS + self._more_works
            or self._kept_bytes > _KEPT_BYTES + self._more_bytes
        ):
            self._forget_finished()
        return work

    def _forget_finished(self) -> None:
        """Lets go of the oldest works that are over, until no more are left than are kept.

        Sends and receives do not end in the order of their start, so those under way are passed
        over. The next time is when as much has come as was passed over: on average each start of
        an operation looks at one of them.
        """
        works = self._works
        passed = 0
        for _ in range(len(works)):
            if len(works) <= _KEPT_WORKS and self._kept_bytes <= _KEPT_BYTES:
                break
            try:
                first = works[0]
            except IndexError:
                return
            over = first[0].look()
            with self.writes.lock:
                if works is not self._works:
                    return  # Another thread has ended them all.
                # Another thread may have been faster.
                if not works or works[0] is not first:
                    continue
                if over:
                    self._kept_bytes -= works.popleft()[1]
                else:
                    # One step, so that a signal handler finds it in its place.
                    works.rotate(-1)
                    passed += 1
        self._more_works = max(0, len(works) - _KEPT_WORKS) + passed
        self._more_bytes = max(0, self._kept_bytes - _KEPT_BYTES) + passed * _BYTES_A_LOOK

    def move(self, operation: int, tensor: torch.Tensor, peer: int) -> Call:
        """The call that sends or receives a contiguous tensor's bytes."""
        count, kind = moved(tensor)
        address = tensor.data_ptr()
        if operation == SEND:
            return SEND, address, 0, count, kind, 0, peer
        return RECV, 0, address, count, kind, 0, peer

    def shutdown(self) -> None:
        """Waits, for a bounded time, until the queue is empty; then ends the communicator."""
        native, handle = self.native, self.handle
        if handle:
            with self.writes.lock:
                first, self._finalizing = not self._finalizing, True
            # Another thread that shuts down may be at it.
            code = native.comm_finalize(handle) if first else IN_PROGRESS
            pause = 0.0
            deadline = time.monotonic() + SHUTDOWN_LIMIT_S
            while code == IN_PROGRESS and time.monotonic() < deadline:
                time.sleep(pause)
                pause = min(pause + 0.0002, 0.005)
                state, code = native.comm_get_async_error(handle)
                code = state or code
            if code:
                self.abort("the group was shut down after an error, or with operations under way")
                return
            for work, _ in list(self._works):
                work.look()
        self._end(native.comm_destroy, "the group was shut down")

    def abort(self, reason: str = "the group was aborted") -> None:
        """Ends everything on the communicator at once; peers see a remote error.

        When it returns nobody writes into the tensors of callers, neither the library nor a
        thread that copies a result; but a signal handler that aborts inside such a copy returns to
        it, and that one copy is done to its end.
        """
        self._end(self.native.comm_abort, reason)

    def _end(self, end: Callable[[int], int], reason: str) -> None:
        """Ends the communicator, or waits until the thread that does has done it."""
        works: deque[tuple[QueuedWork, int]] = deque()
        with self.writes.lock:
            handle, self.handle = self.handle, 0
            if handle:
                self.writes.ended = reason
                try:
                    end(handle)
                finally:
                    works, self._works = self._works, deque()
                    self._kept_bytes = 0
                    for work, _ in works:
                        work.end(reason)
        # Callbacks of futures may wait for other threads. A signal handler on a thread that copies
        # leaves them to the thread of the futures.
        if not self.writes.held():
            for work, _ in works:
                work.complete()


class _Watch:
    """Revokes a communicator if what starts operations on it ends early, such as by Ctrl-C.

    The library must not write into buffers that the caller believes to be its own again; when the
    revocation returns, it does not.
    """

    __slots__ = ("_comm", "work")

    def __init__(self, comm: Communicator) -> None:
        self._comm = comm
        # The handle of what was started, which its caller does not get if this ends early.
        self.work: QueuedWork | None = None

    def __enter__(self) -> _Watch:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or issubclass(kind, _REFUSALS):
            return
        if self.work is not None:
            self.work.revoke()
        else:
            self._comm.native.comm_interrupt(self._comm.handle)
