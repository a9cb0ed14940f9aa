"""The operations of a communicator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

from jccl._numbers import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    IN_PROGRESS,
    REDUCE_SCATTER,
    SUCCESS,
)
from jccl._version import package_version
from jccl.core.buffers import Buffer, resolve
from jccl.core.errors import NCCLError, check
from jccl.core.group import queued
from jccl.core.held import Kept, forget_lost
from jccl.core.reductions import CustomRedOp, pre_mul_sum
from jccl.core.types import NcclDataType, NcclInvalid, NcclRedOp, Result, redop

if TYPE_CHECKING:
    from jccl.bindings import Binding

_MANY_HELD = 64
# What an operation raises that is not queued.
_REFUSALS = (NCCLError, NcclInvalid, OverflowError, TypeError)


def not_done(function: str) -> NoReturn:
    """Raises what the library says of a function that is not done yet."""
    raise NCCLError(
        Result.InvalidUsage,
        f"{function} is not done yet in JCCL {package_version()}; see DIFFERENCES.md",
    )


class Operations:
    """What a communicator does with buffers.

    A plain call on numpy arrays is one step of the extension (``_on_arrays``); every other one
    resolves its buffers here.
    """

    _library: Binding
    # The handle, 0 without one.
    _ptr: int
    _rank: int | None
    # The buffers of operations that are under way.
    _kept: Kept
    # The children of splits that are under way.
    _children: Kept

    if TYPE_CHECKING:

        @property
        def rank(self) -> int: ...  # noqa: D102
        @property
        def nranks(self) -> int: ...  # noqa: D102

    def allreduce(
        self,
        sendbuf: Any,
        recvbuf: Any,
        op: SupportsIndex,
        *,
        stream: int | None = None,
        config: object = None,
    ) -> None:
        """Reduces ``sendbuf`` of all ranks elementwise into ``recvbuf`` of every rank.

        The same buffer twice is the in-place form. ``recvbuf`` may be longer.
        """
        if self._on_arrays(ALL_REDUCE, sendbuf, recvbuf, op, 1, stream, config):
            return
        send, recv = self._pair("allreduce", sendbuf, recvbuf)
        self._fits("allreduce", recv, send.count)
        self._plain("allreduce", "ncclAllReduceConfig", stream, config)
        self._call(
            "allreduce",
            self._library.all_reduce,
            send,
            recv,
            send.count,
            send.dtype,
            self._redop("allreduce", op, send, recv),
        )

    def broadcast(
        self,
        sendbuf: Any,
        recvbuf: Any,
        root: int,
        *,
        stream: int | None = None,
        config: object = None,
    ) -> None:
        """Copies ``sendbuf`` of rank ``root`` into ``recvbuf`` of every rank.

        ``sendbuf`` is looked at on the root only, where both have equal lengths.
        """
        is_root = self.rank == root
        own = sendbuf if is_root else recvbuf
        if self._on_arrays(BROADCAST, own, recvbuf, root, 1, stream, config):
            return
        if is_root:
            send, recv = self._pair("broadcast", sendbuf, recvbuf)
            if recv.count != send.count:
                raise self._refusal(
                    "broadcast",
                    f"recvbuf has {recv.count} elements and sendbuf {send.count}:"
                    " they must be equal on the root of a broadcast",
                )
        else:
            send = recv = self._resolve("broadcast", recvbuf, "recvbuf", writable=True)
        self._plain("broadcast", "ncclBroadcastConfig", stream, config)
        self._call("broadcast", self._library.broadcast, send, recv, recv.count, recv.dtype, root)

    def allgather(
        self, sendbuf: Any, recvbuf: Any, *, stream: int | None = None, config: object = None
    ) -> None:
        """Lays ``sendbuf`` of all ranks one after the other into ``recvbuf`` of every rank.

        In place where ``sendbuf`` is the slice of ``recvbuf`` that belongs to this rank.
        """
        nranks = self.nranks
        if self._on_arrays(ALL_GATHER, sendbuf, recvbuf, 0, nranks, stream, config):
            return
        send, recv = self._pair("allgather", sendbuf, recvbuf)
        self._fits("allgather", recv, send.count * nranks)
        self._plain("allgather", "ncclAllGatherConfig", stream, config)
        self._call("allgather", self._library.all_gather, send, recv, send.count, send.dtype)

    def reduce_scatter(
        self,
        sendbuf: Any,
        recvbuf: Any,
        op: SupportsIndex,
        *,
        stream: int | None = None,
        config: object = None,
    ) -> None:
        """Reduces ``sendbuf`` of all ranks; rank r gets the r-th of nranks equal parts.

        In place where ``recvbuf`` is the slice of ``sendbuf`` that belongs to this rank.
        """
        if self._on_arrays(REDUCE_SCATTER, sendbuf, recvbuf, op, self.nranks, stream, config):
            return
        send, recv = self._pair("reduce_scatter", sendbuf, recvbuf)
        count = self._share("reduce_scatter", send)
        self._fits("reduce_scatter", recv, count)
        self._plain("reduce_scatter", "ncclReduceScatterConfig", stream, config)
        self._call(
            "reduce_scatter",
            self._library.reduce_scatter,
            send,
            recv,
            count,
            send.dtype,
            self._redop("reduce_scatter", op, send, recv),
        )

    def reduce(
        self,
        sendbuf: Any,
        recvbuf: Any,
        op: SupportsIndex,
        root: int | None = None,
        *,
        stream: int | None = None,
        config: object = None,
    ) -> None:
        """Reduces ``sendbuf`` of all ranks elementwise into ``recvbuf`` of rank ``root``.

        The same buffer twice is the in-place form. ``recvbuf`` may be longer, and is looked at on
        the root only. Without a root, this is ``allreduce``.
        """
        if root is None:
            self.allreduce(sendbuf, recvbuf, op, stream=stream, config=config)
            return
        send, recv = self._to_root("reduce", sendbuf, recvbuf, root)
        self._fits("reduce", recv, send.count)
        self._plain("reduce", "ncclReduceConfig", stream, config)
        self._call(
            "reduce",
            self._library.reduce,
            send,
            recv,
            send.count,
            send.dtype,
            self._redop("reduce", op, send, recv),
            root,
        )

    def alltoall(
        self, sendbuf: Any, recvbuf: Any, *, stream: int | None = None, config: object = None
    ) -> None:
        """Sends the r-th of nranks equal parts to rank r, and receives part r from it.

        The same buffer twice is the in-place form. ``recvbuf`` may be longer.
        """
        if self._on_arrays(ALL_TO_ALL, sendbuf, recvbuf, 0, self.nranks, stream, config):
            return
        send, recv = self._pair("alltoall", sendbuf, recvbuf)
        count = self._share("alltoall", send)
        self._fits("alltoall", recv, send.count)
        self._plain("alltoall", "ncclAlltoAllConfig", stream, config)
        self._call("alltoall", self._library.allto_all, send, recv, count, send.dtype)

    def gather(
        self,
        sendbuf: Any,
        recvbuf: Any,
        root: int | None = None,
        *,
        stream: int | None = None,
        config: object = None,
    ) -> None:
        """Lays ``sendbuf`` of all ranks one after the other into ``recvbuf`` of rank ``root``.

        In place where ``sendbuf`` is the slice of ``recvbuf`` that belongs to the root.
        ``recvbuf`` is looked at on the root only. Without a root, this is ``allgather``.
        """
        if root is None:
            self.allgather(sendbuf, recvbuf, stream=stream, config=config)
            return
        send, recv = self._to_root("gather", sendbuf, recvbuf, root)
        self._fits("gather", recv, send.count * (self.nranks if self.rank == root else 1))
        self._plain("gather", "ncclGatherConfig", stream, config)
        self._call("gather", self._library.gather, send, recv, send.count, send.dtype, root)

    def scatter(
        self,
        sendbuf: Any,
        recvbuf: Any,
        root: int,
        *,
        stream: int | None = None,
        config: object = None,
    ) -> None:
        """Sends the r-th of nranks equal parts of ``sendbuf`` of ``root`` to rank r.

        In place where ``recvbuf`` is the slice of ``sendbuf`` that belongs to the root.
        ``sendbuf`` is looked at on the root only; elsewhere ``recvbuf`` has the length of a part.
        """
        if self.rank == root:
            send, recv = self._pair("scatter", sendbuf, recvbuf)
            count = self._share("scatter", send)
            if recv.count != count:
                raise self._refusal(
                    "scatter",
                    f"recvbuf has {recv.count} elements and a part of sendbuf {count}:"
                    " they must be equal on the root of a scatter",
                )
        else:
            send = recv = self._resolve("scatter", recvbuf, "recvbuf", writable=True)
            count = recv.count
        self._plain("scatter", "ncclScatterConfig", stream, config)
        self._call("scatter", self._library.scatter, send, recv, count, recv.dtype, root)

    def send(self, sendbuf: Any, peer: int, *, stream: int | None = None) -> None:
        """Sends ``sendbuf`` to rank ``peer``, which receives as many elements."""
        send = self._resolve("send", sendbuf, "sendbuf")
        self._plain("send", "", stream, None)
        self._call("send", self._library.send, send, None, send.count, send.dtype, peer)

    def recv(self, recvbuf: Any, peer: int, *, stream: int | None = None) -> None:
        """Receives into ``recvbuf`` what rank ``peer`` sends, as many elements."""
        recv = self._resolve("recv", recvbuf, "recvbuf", writable=True)
        self._plain("recv", "", stream, None)
        self._call("recv", self._library.recv, recv, None, recv.count, recv.dtype, peer)

    def _refusal(self, operation: str, sentence: str) -> NcclInvalid:
        """An error of an operation, which names it and this rank."""
        where = operation
        try:
            # One that has ended, or is not made yet, knows no rank unless it was asked before.
            if self._ptr or self._rank is not None:
                where += f", rank {self.rank}"
        except (NCCLError, NcclInvalid):
            pass
        return NcclInvalid(f"{sentence} ({where})")

    def _resolve(self, operation: str, buffer: Any, name: str, *, writable: bool = False) -> Buffer:
        try:
            return resolve(buffer, name, writable=writable)
        except NcclInvalid as refused:
            raise self._refusal(operation, refused.msg) from refused.__cause__

    def _pair(self, operation: str, sendbuf: Any, recvbuf: Any) -> tuple[Buffer, Buffer]:
        """Both buffers, whose types are equal; one object is both in place."""
        try:
            if sendbuf is recvbuf:
                both = resolve(sendbuf, "the buffer", writable=True)
                return both, both
            send = resolve(sendbuf, "sendbuf")
            recv = resolve(recvbuf, "recvbuf", writable=True)
            if send.dtype != recv.dtype:
                raise NcclInvalid(
                    f"sendbuf has elements of type {NcclDataType(send.dtype).name} and recvbuf of"
                    f" type {NcclDataType(recv.dtype).name}: they must be equal, convert one"
                )
        except NcclInvalid as refused:
            raise self._refusal(operation, refused.msg) from refused.__cause__
        return send, recv

    def _to_root(
        self, operation: str, sendbuf: Any, recvbuf: Any, root: int
    ) -> tuple[Buffer, Buffer]:
        """Both buffers on the root; elsewhere what is sent is both."""
        if self.rank == root:
            return self._pair(operation, sendbuf, recvbuf)
        send = self._resolve(operation, sendbuf, "sendbuf")
        return send, send

    def _fits(self, operation: str, recv: Buffer, needed: int) -> None:
        """Refuses a receive buffer that is shorter than what arrives."""
        if recv.count < needed:
            raise self._refusal(
                operation,
                f"recvbuf has {recv.count} elements, but the operation writes {needed}:"
                " pass a longer one",
            )

    def create_pre_mul_sum(self, scalar: Any, datatype: NcclDataType | None = None) -> CustomRedOp:
        """A reduction that sums what each rank multiplies first.

        Args:
            scalar: the factor of this rank: a number, or an array of one element, read at once.
                Factors may differ between ranks.
            datatype: the type of the elements; needed where ``scalar`` is a number.
        """
        comm = self._require("create_pre_mul_sum")
        try:
            return pre_mul_sum(self._library, comm, scalar, datatype)
        except NcclInvalid as refused:
            raise self._refusal("create_pre_mul_sum", refused.msg) from None

    def _redop(self, operation: str, op: object, send: Buffer, recv: Buffer) -> int:
        """The number of a reduction that gives bools if its buffers are bools."""
        try:
            number = redop(op)
        except NcclInvalid as refused:
            raise self._refusal(operation, refused.msg) from None
        sums = number in (NcclRedOp.SUM, NcclRedOp.AVG) or isinstance(op, CustomRedOp)
        if sums and (send.is_bool or recv.is_bool):
            name = "a CustomRedOp" if isinstance(op, CustomRedOp) else NcclRedOp(number).name
            raise self._refusal(
                operation,
                f"op is {name} and the elements are bool, which it makes other"
                " numbers of than 0 and 1: pass MAX (or) or MIN (and)",
            )
        return number

    def _plain(self, operation: str, function: str, stream: int | None, config: object) -> None:
        """Refuses what host communicators do not have: streams and per-call configuration."""
        if stream:
            raise self._refusal(
                operation,
                f"stream is {stream!r}: host communicators have no streams yet, pass None",
            )
        if config is not None:
            not_done(function)

    def _on_arrays(
        self,
        operation: int,
        sendbuf: Any,
        recvbuf: Any,
        number: SupportsIndex,
        nranks: int,
        stream: int | None,
        config: object,
    ) -> bool:
        """The call in one step, if it is a plain one on numpy arrays."""
        if stream or config is not None:
            return False
        try:
            code = self._library.on_arrays(operation, sendbuf, recvbuf, number, nranks, self._ptr)
            if code > 0:
                self._after(code, (sendbuf, recvbuf))
        except BaseException as error:
            self._end_interrupted(error)
            raise
        return code >= 0

    def _call(
        self,
        operation: str,
        function: Callable[..., int],
        send: Buffer,
        recv: Buffer | None,
        *numbers: int,
    ) -> None:
        """Calls a function of the library on one or two buffers."""
        addresses = (send.ptr,) if recv is None else (send.ptr, recv.ptr)
        try:
            code = function(*addresses, *numbers, self._require(operation), 0)
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

    def _share(self, operation: str, send: Buffer) -> int:
        count, rest = divmod(send.count, self.nranks)
        if rest:
            raise self._refusal(
                operation,
                f"sendbuf has {send.count} elements, which {self.nranks} ranks cannot share"
                f" equally: {rest} would be left over; pad or slice it",
            )
        return count

    def _end_interrupted(self, error: BaseException) -> None:
        """Ends an operation that a signal handler has interrupted, such as Ctrl-C's.

        Its caller believes that the buffers are its own again.
        """
        if not isinstance(error, _REFUSALS) and not self._library.group_depth():
            self._end_queued()

    def _end_queued(self) -> None:
        """Revokes the communicator if something is under way that no caller waits for."""
        if self._library.comm_get_async_error(self._ptr)[1] == IN_PROGRESS:
            self._library.comm_interrupt(self._ptr)

    def _after(self, code: int, buffers: object) -> None:
        """Checks a call's result; keeps its buffers while it is queued or runs."""
        if self._library.group_depth():
            # What is refused is not part of the group.
            if code in (SUCCESS, IN_PROGRESS):
                queued.calls.append((self, buffers))
        elif code == IN_PROGRESS:
            self._hold(buffers)
        check(code)

    def _hold(self, buffers: object) -> None:
        self._kept.append(buffers)
        # A program that makes no further communicator lets go of lost ones' buffers here.
        forget_lost(self._library.comm_drop)
        if len(self._kept) > _MANY_HELD and self._ptr:
            self._poll(self._ptr)

    def _is_busy(self) -> bool:
        """Whether something may be under way; without a handle nothing is."""
        return bool(self._ptr) and self._poll(self._ptr) != (SUCCESS, SUCCESS)

    def _poll(self, ptr: int) -> tuple[int, int]:
        """The library's answer for the state; if that is Success, old buffers are let go.

        Success alone says that nothing is under way. An error may be that of one operation, or of
        a group that was not launched, while others still run; or another thread ends the
        communicator, and has not come to the end of it.
        """
        marks = [(kept, kept.mark()) for kept in (self._kept, self._children)]
        answer = self._library.comm_get_async_error(ptr)
        if answer == (SUCCESS, SUCCESS):
            for kept, mark in marks:
                kept.forget(mark)
        return answer
