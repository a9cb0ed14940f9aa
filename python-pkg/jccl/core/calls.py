"""How Python makes a call that the extension does not: it resolves, checks and keeps buffers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from jccl._numbers import IN_PROGRESS, SUCCESS
from jccl._operations import OPERATIONS, ROOT
from jccl._version import package_version
from jccl.core.buffers import Buffer, resolve
from jccl.core.errors import NCCLError, check
from jccl.core.group import queued
from jccl.core.held import Kept, forget_lost
from jccl.core.types import NcclDataType, NcclInvalid, NcclRedOp, Result, redop

if TYPE_CHECKING:
    from jccl.bindings import Binding

_MANY_HELD = 64
# The exceptions of an operation that was not queued.
_REFUSALS = (NCCLError, NcclInvalid, OverflowError, TypeError)


def not_done(function: str) -> NoReturn:
    """Raises the library's error for a function that is not done yet."""
    raise NCCLError(
        Result.InvalidUsage,
        f"{function} is not done yet in JCCL {package_version()}; see DIFFERENCES.md",
    )


class Calls:
    """The part of a communicator that calls operations."""

    _library: Binding
    # The handle, or 0.
    _ptr: int
    _rank: int | None
    _nranks: int | None
    # Whether the buffers are a GPU's, once that is known.
    _is_on_device: bool | None = None
    # The buffers of operations that are under way.
    _kept: Kept
    # The children of splits that are under way.
    _children: Kept

    if TYPE_CHECKING:

        @property
        def rank(self) -> int: ...  # noqa: D102
        @property
        def nranks(self) -> int: ...  # noqa: D102

    def _resolve_and_call(
        self,
        name: str,
        number: int,
        sendbuf: Any,
        recvbuf: Any,
        op: object,
        root: int,
        stream: object,
        config: object,
    ) -> None:
        """Calls an operation on any buffers, or says what is wrong with them.

        Args:
            name: the method, for errors.
            number: the operation.
            sendbuf: the input; ignored on ranks that have none.
            recvbuf: the output; ignored on ranks that have none.
            op: the reduction, if the operation takes one.
            root: the root or peer, if the operation takes one.
            stream: see ``Operations``.
            config: likewise.
        """
        operation = OPERATIONS[number]
        rank = self.rank if operation.rooted else 0
        nranks = self.nranks if operation.divides else 1
        sends, receives = operation.sends(rank, root), operation.receives(rank, root)
        if sends and receives:
            send, recv = self._pair(name, sendbuf, recvbuf)
        elif sends:
            send = recv = self._resolve(name, sendbuf, "sendbuf")
        else:
            send = recv = self._resolve(name, recvbuf, "recvbuf", writable=True)
        count = self._share(name, send, operation.in_size(1, nranks)) if sends else recv.count
        if sends and receives:
            # The other ranks' count is what they receive, so the root must receive just as much.
            exact = operation.senders == ROOT
            self._fits(name, recv, operation.out_size(count, nranks), exact)
        where = self._stream(name, stream)
        if config is not None:
            not_done(f"nccl{operation.name}Config")
        numbers = [count, send.dtype]
        if operation.reduces:
            numbers.append(self._redop(name, op, send, recv))
        if operation.rooted or operation.point_to_point:
            numbers.append(root)
        function = getattr(self._library, operation.function)
        both = None if operation.point_to_point else recv
        self._call(name, function, send, both, where, *numbers)

    def _refusal(self, operation: str, sentence: str) -> NcclInvalid:
        """The error that says ``sentence`` and names the operation and this rank."""
        where = operation
        try:
            # A communicator that has ended or is not made yet does not know its rank.
            if self._ptr or self._rank is not None:
                where += f", rank {self.rank}"
        except (NCCLError, NcclInvalid):
            pass
        return NcclInvalid(f"{sentence} ({where})")

    def _resolve(self, operation: str, buffer: Any, name: str, *, writable: bool = False) -> Buffer:
        try:
            return resolve(buffer, name, writable=writable, on_device=self._on_device)
        except NcclInvalid as refused:
            raise self._refusal(operation, refused.msg) from refused.__cause__

    def _pair(self, operation: str, sendbuf: Any, recvbuf: Any) -> tuple[Buffer, Buffer]:
        """Resolves both buffers, whose types must be equal; in place both are one object."""
        try:
            if sendbuf is recvbuf:
                both = resolve(sendbuf, "the buffer", writable=True, on_device=self._on_device)
                return both, both
            send = resolve(sendbuf, "sendbuf", on_device=self._on_device)
            recv = resolve(recvbuf, "recvbuf", writable=True, on_device=self._on_device)
            if send.dtype != recv.dtype:
                raise NcclInvalid(
                    f"sendbuf has elements of type {NcclDataType(send.dtype).name} and recvbuf of"
                    f" type {NcclDataType(recv.dtype).name}: they must be equal, convert one"
                )
        except NcclInvalid as refused:
            raise self._refusal(operation, refused.msg) from refused.__cause__
        return send, recv

    def _fits(self, operation: str, recv: Buffer, needed: int, exact: bool) -> None:
        """Refuses a receive buffer that is too short, or, with ``exact``, too long."""
        if exact and recv.count != needed:
            raise self._refusal(
                operation,
                f"recvbuf has {recv.count} elements, but every rank receives {needed}:"
                " on the root, too, pass one of just that length",
            )
        if recv.count < needed:
            raise self._refusal(
                operation,
                f"recvbuf has {recv.count} elements, but the operation writes {needed}:"
                " pass a longer one",
            )

    def _share(self, operation: str, send: Buffer, ranks: int) -> int:
        """How many elements each of ``ranks`` equal parts has."""
        count, rest = divmod(send.count, ranks)
        if rest:
            raise self._refusal(
                operation,
                f"sendbuf has {send.count} elements, which {ranks} ranks cannot share"
                f" equally: {rest} would be left over; pad or slice it",
            )
        return count

    def _redop(self, operation: str, op: object, send: Buffer, recv: Buffer) -> int:
        """The reduction's number; refuses one that makes other values than 0 and 1 of bools."""
        try:
            number = redop(op)
        except NcclInvalid as refused:
            raise self._refusal(operation, refused.msg) from None
        custom = number > NcclRedOp.AVG
        sums = number in (NcclRedOp.SUM, NcclRedOp.AVG) or custom
        if sums and (send.is_bool or recv.is_bool):
            name = "a CustomRedOp" if custom else NcclRedOp(number).name
            raise self._refusal(
                operation,
                f"op is {name} and the elements are bool, so the result would hold numbers other"
                " than 0 and 1: pass MAX (or) or MIN (and)",
            )
        return number

    @property
    def _on_device(self) -> bool:
        """Whether the buffers are a GPU's; False for one that has no handle."""
        known = self._is_on_device
        if known is None:
            if not self._ptr:
                return False
            code, number = self._library.comm_cu_device(self._ptr)
            # One that is being made does not know it yet.
            check(code)
            known = self._is_on_device = number >= 0
        return known

    def _stream(self, name: str, stream: Any) -> int:
        """The number of a stream: of an int, or of an object of torch, CuPy or CUDA's Python.

        Raises:
            NcclInvalid: it is no stream, or the communicator is one of the host, which has none.
        """
        if stream is None:
            return 0
        number = stream
        if hasattr(stream, "__cuda_stream__"):
            number = stream.__cuda_stream__()[1]
        elif hasattr(stream, "cuda_stream"):
            number = stream.cuda_stream
        elif hasattr(stream, "ptr"):
            number = stream.ptr
        if number and not self._on_device:
            raise self._refusal(
                name, f"stream is {stream!r}: host communicators have no streams, pass None"
            )
        if not hasattr(number, "__index__"):
            raise self._refusal(
                name,
                f"stream is {stream!r}: pass the number of a stream, a stream of torch or CuPy, or"
                " an object with __cuda_stream__",
            )
        return operator.index(number)

    def _call(
        self,
        operation: str,
        function: Callable[..., int],
        send: Buffer,
        recv: Buffer | None,
        stream: int,
        *numbers: int,
    ) -> None:
        """Calls a function of the library on one or two buffers, in a stream."""
        addresses = (send.ptr,) if recv is None else (send.ptr, recv.ptr)
        try:
            code = function(*addresses, *numbers, self._require(operation), stream)
            self._after(code, (send.keep, None if recv is None else recv.keep))
        except BaseException as error:
            self._end_interrupted(error)
            raise

    def _require(self, operation: str) -> int:
        if not self._ptr:
            raise self._refusal(
                operation,
                "Communicator is not initialized, or already destroyed: use it between init and"
                " destroy",
            )
        return self._ptr

    def _end_interrupted(self, error: BaseException) -> None:
        """Ends an operation that a signal handler interrupted, as by Ctrl-C.

        Its caller takes the buffers for its own again.
        """
        if not isinstance(error, _REFUSALS) and not self._library.group_depth():
            self._end_queued()

    def _end_queued(self) -> None:
        """Revokes the communicator if operations are under way that no caller waits for."""
        if self._library.comm_get_async_error(self._ptr)[1] == IN_PROGRESS:
            self._library.comm_interrupt(self._ptr)

    def _after(self, code: int, buffers: object) -> None:
        """Checks a call's result; keeps its buffers while it is queued or runs."""
        if self._library.group_depth():
            # A call that was refused is not part of the group.
            if code in (SUCCESS, IN_PROGRESS):
                queued.calls.append((self, buffers))
        elif code == IN_PROGRESS:
            self._hold(buffers)
        check(code)

    def _hold(self, buffers: object) -> None:
        self._kept.append(buffers)
        # A program that makes no more communicators lets go of lost ones' buffers here.
        forget_lost(self._library.comm_drop)
        if len(self._kept) > _MANY_HELD and self._ptr:
            self._poll(self._ptr)

    def _is_busy(self) -> bool:
        """Whether operations may be under way; without a handle there are none."""
        return bool(self._ptr) and self._poll(self._ptr) != (SUCCESS, SUCCESS)

    def _poll(self, ptr: int) -> tuple[int, int]:
        """Asks the library for the state; if that is Success, lets go of old buffers.

        Only Success means that nothing is under way. An error may be that of one operation, or of
        a group that was not launched, while others still run; or another thread may not have
        finished ending the communicator.
        """
        marks = [(kept, kept.mark()) for kept in (self._kept, self._children)]
        answer = self._library.comm_get_async_error(ptr)
        if answer == (SUCCESS, SUCCESS):
            for kept, mark in marks:
                kept.forget(mark)
        return answer
