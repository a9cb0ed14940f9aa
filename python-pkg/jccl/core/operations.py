"""The operations of a communicator."""

from __future__ import annotations

from typing import Any, SupportsIndex

from jccl._numbers import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    GATHER,
    RECV,
    REDUCE,
    REDUCE_SCATTER,
    SCATTER,
    SEND,
)
from jccl.core.calls import Calls
from jccl.core.reductions import CustomRedOp, pre_mul_sum
from jccl.core.types import NcclDataType, NcclInvalid


class Operations(Calls):
    """The operations of a communicator. These rules hold for all of them:

    *Calls.* All ranks call the same operations in the same order. Ranks that call differently get
    an error that names both calls (CALLED_DIFFERENTLY). A call on a blocking communicator
    returns when the operation is complete on this rank. On a non-blocking one, and inside
    ``group()``, the call only queues the operation: the buffers belong to JCCL until
    ``get_async_error()`` is Success.

    *Buffers.* A buffer is a torch CPU tensor, a numpy array, or any object with the buffer
    protocol, ``__array_interface__`` or DLPack. It must be contiguous in row-major order; its shape
    does not matter. Sizes are numbers of elements, never bytes. Both buffers of a call, and the
    buffers of all ranks, have the same element type. Operations move and reduce every type of
    ``NcclDataType``; bool travels as UINT8. A receive buffer may be longer than what arrives unless
    its method says otherwise; the rest keeps its content. The two buffers of a call must not
    overlap, except in place, as each method defines it.

    *Arguments.* ``op`` is SUM, PROD, MAX, MIN, AVG, or a result of ``create_pre_mul_sum``, and
    equal on all ranks. Buffers of bool can be reduced by MAX (or), MIN and PROD (and) only.
    ``root`` and ``peer`` are ranks of this communicator, from 0. ``config`` is None: a
    configuration of one call is not done yet. ``stream`` is None or 0 on host communicators, which
    have no streams.

    *GPUs.* The buffers of a communicator of a GPU (``NCCLConfig(device="cuda")``) are tensors of
    torch on that GPU, or objects with ``__cuda_array_interface__`` or DLPack. A call gives a stream
    its work and returns; ``stream`` is the stream's number, a stream of torch or CuPy, or any
    object with ``__cuda_stream__``, and None the default stream. The caller keeps the buffers until
    the stream has done the work.

    *Order of reduction.* Within a node elements are combined in the order of ranks. All-reduces and
    reduce-scatters of more than 16 KiB between several nodes, and all-reduces where a rank has 4 or
    more ranks on other nodes, combine the ranks of each node first, then the nodes in the order of
    their first ranks. ``JCCL_DETERMINISTIC=rank`` keeps the order of ranks everywhere. Floats of 16
    and 8 bits are combined in float32 and rounded once for each node. AVG is the sum divided by the
    number of ranks; integers wrap around, and their average rounds toward zero. In MAX and MIN NaN
    wins, and -0 is less than +0. DIFFERENCES.md has the details.

    *Errors.* A name in capitals is an entry of docs/errors.md, whose anchor is the name in small
    letters: docs/errors.md#buffers_differ. ``NcclInvalid`` means that an argument was refused
    before the library was called, and that nothing has happened: NOT_A_BUFFER, NOT_HOST_MEMORY,
    NOT_DEVICE_MEMORY, NOT_CONTIGUOUS, NOT_WRITABLE, ELEMENT_TYPE, FOREIGN_BYTE_ORDER,
    DLPACK_FAILED, BUFFERS_DIFFER, NOT_DIVISIBLE, PYTHON_REDUCTION, PYTHON_BOOL_REDUCTION,
    PYTHON_STREAM, PYTHON_COMMUNICATOR_STATE. A number that C cannot hold is an OverflowError
    (NUMBER_TOO_LARGE), an argument that must be a number and is none a TypeError (NOT_A_NUMBER).
    ``NCCLError`` has the library's code and sentence: InvalidArgument for ROOT_OR_PEER,
    BUFFERS_OVERLAP, REDUCTION_UNKNOWN, REDUCTION_ENDED, REDUCTION_TYPE, NOT_READY and
    ALREADY_ENDED; InvalidUsage for CALLED_DIFFERENTLY, UNMATCHED, TOO_LARGE, TOO_MANY_RANKS and
    TOO_MANY_PENDING; RemoteError for LOST, LEFT, ABORTED, INTERRUPTED and REPORTED (InvalidUsage if
    the ranks called differently); Timeout for LATE; SystemError for SYSTEM_CALL, NO_MEMORY,
    NO_STACK, UNREADABLE and BUFFER_UNREADABLE. After RemoteError, Timeout, CALLED_DIFFERENTLY and
    UNMATCHED the communicator can only be destroyed or aborted.
    """

    def allreduce(
        self,
        sendbuf: Any,
        recvbuf: Any,
        op: SupportsIndex,
        *,
        stream: Any = None,
        config: object = None,
    ) -> None:
        """Combines ``sendbuf`` of all ranks element by element; every rank gets the result.

        Args:
            sendbuf: n elements, on every rank.
            recvbuf: gets n elements. In place: the same buffer as ``sendbuf``.
            op: the reduction.
            stream: the stream of a GPU; see the class.
            config: None.

        Raises:
            NcclInvalid: ``recvbuf`` is shorter or of another type (BUFFERS_DIFFER), or another
                argument is wrong; see the class.
            NCCLError: what the library says; see the class.
        """
        self._do("allreduce", ALL_REDUCE, sendbuf, recvbuf, op, 0, stream, config)

    def broadcast(
        self,
        sendbuf: Any,
        recvbuf: Any,
        root: int,
        *,
        stream: Any = None,
        config: object = None,
    ) -> None:
        """Copies ``sendbuf`` of rank ``root`` into ``recvbuf`` of every rank.

        Args:
            sendbuf: n elements, on the root; elsewhere it is ignored and may be None.
            recvbuf: has and gets exactly n elements, on every rank. In place: the same buffer as
                ``sendbuf``.
            root: the rank that sends.
            stream: the stream of a GPU; see the class.
            config: None.

        Raises:
            NcclInvalid: on the root the buffers have different lengths or types (BUFFERS_DIFFER),
                or another argument is wrong; see the class.
            NCCLError: ``root`` is no rank (ROOT_OR_PEER), the ranks' lengths differ
                (CALLED_DIFFERENTLY), or what else the library says; see the class.
        """
        self._do("broadcast", BROADCAST, sendbuf, recvbuf, 0, root, stream, config)

    def allgather(
        self, sendbuf: Any, recvbuf: Any, *, stream: Any = None, config: object = None
    ) -> None:
        """Puts ``sendbuf`` of all ranks one after the other into ``recvbuf`` of every rank.

        Args:
            sendbuf: n elements, on every rank.
            recvbuf: gets nranks * n elements, those of rank r from index r * n on. In place:
                ``sendbuf`` is this rank's own part of it.
            stream: the stream of a GPU; see the class.
            config: None.

        Raises:
            NcclInvalid: ``recvbuf`` is shorter or of another type (BUFFERS_DIFFER), or another
                argument is wrong; see the class.
            NCCLError: what the library says; see the class.
        """
        self._do("allgather", ALL_GATHER, sendbuf, recvbuf, 0, 0, stream, config)

    def reduce_scatter(
        self,
        sendbuf: Any,
        recvbuf: Any,
        op: SupportsIndex,
        *,
        stream: Any = None,
        config: object = None,
    ) -> None:
        """Combines ``sendbuf`` of all ranks; rank r gets the r-th of nranks equal parts.

        Args:
            sendbuf: nranks * n elements, on every rank.
            recvbuf: gets n elements. In place: this rank's own part of ``sendbuf``.
            op: the reduction.
            stream: the stream of a GPU; see the class.
            config: None.

        Raises:
            NcclInvalid: the ranks cannot share ``sendbuf`` equally (NOT_DIVISIBLE), ``recvbuf`` is
                shorter or of another type (BUFFERS_DIFFER), or another argument is wrong; see the
                class.
            NCCLError: what the library says; see the class.
        """
        self._do("reduce_scatter", REDUCE_SCATTER, sendbuf, recvbuf, op, 0, stream, config)

    def reduce(
        self,
        sendbuf: Any,
        recvbuf: Any,
        op: SupportsIndex,
        root: int | None = None,
        *,
        stream: Any = None,
        config: object = None,
    ) -> None:
        """Combines ``sendbuf`` of all ranks element by element; rank ``root`` gets the result.

        Args:
            sendbuf: n elements, on every rank.
            recvbuf: gets n elements on the root; elsewhere it is ignored and may be None. In
                place: the same buffer as ``sendbuf``.
            op: the reduction.
            root: the rank that receives. None: every rank does, as in ``allreduce``.
            stream: the stream of a GPU; see the class.
            config: None.

        Raises:
            NcclInvalid: on the root ``recvbuf`` is shorter or of another type (BUFFERS_DIFFER), or
                another argument is wrong; see the class.
            NCCLError: ``root`` is no rank (ROOT_OR_PEER), or what else the library says; see the
                class.
        """
        if root is None:
            self.allreduce(sendbuf, recvbuf, op, stream=stream, config=config)
        else:
            self._do("reduce", REDUCE, sendbuf, recvbuf, op, root, stream, config)

    def alltoall(
        self, sendbuf: Any, recvbuf: Any, *, stream: Any = None, config: object = None
    ) -> None:
        """Sends the r-th of nranks equal parts to rank r, and receives part r from it.

        Args:
            sendbuf: nranks * n elements, on every rank.
            recvbuf: gets nranks * n elements, those of rank r from index r * n on. In place: the
                same buffer as ``sendbuf``.
            stream: the stream of a GPU; see the class.
            config: None.

        Raises:
            NcclInvalid: the ranks cannot share ``sendbuf`` equally (NOT_DIVISIBLE), ``recvbuf`` is
                shorter or of another type (BUFFERS_DIFFER), or another argument is wrong; see the
                class.
            NCCLError: there are too many ranks for elements of this size (TOO_MANY_RANKS), or what
                else the library says; see the class.
        """
        self._do("alltoall", ALL_TO_ALL, sendbuf, recvbuf, 0, 0, stream, config)

    def gather(
        self,
        sendbuf: Any,
        recvbuf: Any,
        root: int | None = None,
        *,
        stream: Any = None,
        config: object = None,
    ) -> None:
        """Puts ``sendbuf`` of all ranks one after the other into ``recvbuf`` of rank ``root``.

        Args:
            sendbuf: n elements, on every rank.
            recvbuf: gets nranks * n elements on the root, those of rank r from index r * n on;
                elsewhere it is ignored and may be None. In place: ``sendbuf`` is the root's own
                part of it.
            root: the rank that receives. None: every rank does, as in ``allgather``.
            stream: the stream of a GPU; see the class.
            config: None.

        Raises:
            NcclInvalid: on the root ``recvbuf`` is shorter or of another type (BUFFERS_DIFFER), or
                another argument is wrong; see the class.
            NCCLError: ``root`` is no rank (ROOT_OR_PEER), or what else the library says; see the
                class.
        """
        if root is None:
            self.allgather(sendbuf, recvbuf, stream=stream, config=config)
        else:
            self._do("gather", GATHER, sendbuf, recvbuf, 0, root, stream, config)

    def scatter(
        self,
        sendbuf: Any,
        recvbuf: Any,
        root: int,
        *,
        stream: Any = None,
        config: object = None,
    ) -> None:
        """Sends the r-th of nranks equal parts of ``sendbuf`` of rank ``root`` to rank r.

        Args:
            sendbuf: nranks * n elements, on the root; elsewhere it is ignored and may be None.
            recvbuf: has and gets exactly n elements, on every rank. In place: the root's own part
                of ``sendbuf``.
            root: the rank that sends.
            stream: the stream of a GPU; see the class.
            config: None.

        Raises:
            NcclInvalid: on the root the ranks cannot share ``sendbuf`` equally (NOT_DIVISIBLE), or
                ``recvbuf`` has another length than a part, or another type (BUFFERS_DIFFER); or
                another argument is wrong; see the class.
            NCCLError: ``root`` is no rank (ROOT_OR_PEER), the ranks' lengths differ
                (CALLED_DIFFERENTLY), there are too many ranks for elements of this size
                (TOO_MANY_RANKS), or what else the library says; see the class.
        """
        self._do("scatter", SCATTER, sendbuf, recvbuf, 0, root, stream, config)

    def send(self, sendbuf: Any, peer: int, *, stream: Any = None) -> None:
        """Sends ``sendbuf`` to rank ``peer``.

        Sends and receives of two ranks match by their order. They are in no order with collectives.

        Args:
            sendbuf: n elements. ``peer`` receives as many of the same type.
            peer: the rank that receives. If it is this rank itself, put send and receive into one
                ``group()``.
            stream: the stream of a GPU; see the class.

        Raises:
            NcclInvalid: an argument is wrong; see the class.
            NCCLError: ``peer`` is no rank (ROOT_OR_PEER), it receives another number or type of
                elements (UNMATCHED), or what else the library says; see the class.
        """
        self._resolve_and_call("send", SEND, sendbuf, None, 0, peer, stream, None)

    def recv(self, recvbuf: Any, peer: int, *, stream: Any = None) -> None:
        """Receives into ``recvbuf`` what rank ``peer`` sends.

        Sends and receives of two ranks match by their order. They are in no order with collectives.

        Args:
            recvbuf: has and gets exactly n elements. ``peer`` sends as many of the same type.
            peer: the rank that sends. If it is this rank itself, put send and receive into one
                ``group()``.
            stream: the stream of a GPU; see the class.

        Raises:
            NcclInvalid: an argument is wrong; see the class.
            NCCLError: ``peer`` is no rank (ROOT_OR_PEER), it sends another number or type of
                elements (UNMATCHED), or what else the library says; see the class.
        """
        self._resolve_and_call("recv", RECV, None, recvbuf, 0, peer, stream, None)

    def create_pre_mul_sum(self, scalar: Any, datatype: NcclDataType | None = None) -> CustomRedOp:
        """Creates a sum in which each rank's input is first multiplied by that rank's factor.

        Every product is rounded to the element type; integers wrap around. Products are added as
        by SUM. If one rank passes a reduction of this kind to an operation, all must, each its own.

        Args:
            scalar: this rank's factor: a number, or an array of one element. It is read at once.
            datatype: the type of the buffers' elements. It may be left out if ``scalar`` is an
                array, which has the same type.

        Returns:
            The reduction, for operations of this communicator on elements of this type. Close it
            after the last call that uses it.

        Raises:
            NcclInvalid: ``scalar`` has no type or does not fit ``datatype`` (SCALAR), or the
                communicator is not initialized (PYTHON_COMMUNICATOR_STATE).
            NCCLError: what the library says of the communicator.
        """
        comm = self._require("create_pre_mul_sum")
        try:
            return pre_mul_sum(self._library, comm, scalar, datatype)
        except NcclInvalid as refused:
            raise self._refusal("create_pre_mul_sum", refused.msg) from None

    def _do(
        self,
        name: str,
        operation: int,
        sendbuf: Any,
        recvbuf: Any,
        op: SupportsIndex,
        root: int,
        stream: Any,
        config: object,
    ) -> None:
        """Makes a call; the extension makes it in one step if it is a plain one on numpy arrays."""
        if not stream and config is None:
            try:
                code = self._library.on_arrays(
                    operation, sendbuf, recvbuf, op, root, self._rank, self._nranks, self._ptr
                )
                if code > 0:
                    self._after(code, (sendbuf, recvbuf))
            except BaseException as error:
                self._end_interrupted(error)
                raise
            if code >= 0:
                return
        self._resolve_and_call(name, operation, sendbuf, recvbuf, op, root, stream, config)
