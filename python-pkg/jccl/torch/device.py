"""The communicator of a group for the tensors of a GPU: the host gives streams work and goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.distributed import DistBackendError

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
from jccl.torch.communicator import DONE, Communicator, Part
from jccl.torch.composition import Call, Composition
from jccl.torch.device_work import DeviceWork
from jccl.torch.work import DoneWork

if TYPE_CHECKING:
    from jccl.bindings.protocol import Binding

Tensor = torch.Tensor

_TRANSFER_WORDS: Final = 5


class Streams:
    """The streams of one GPU, as torch has them.

    Args:
        device: the GPU.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def current(self) -> Any:
        """The calling thread's stream."""
        return torch.cuda.current_stream(self.device)

    def number(self) -> int:
        """The number of the calling thread's stream in the driver."""
        number: int = torch._C._cuda_getCurrentRawStream(self.device.index)
        return number

    def new(self) -> Any:
        """Another stream."""
        stream: Any = torch.cuda.Stream
        return stream(self.device)

    def entered(self, stream: Any) -> AbstractContextManager[None]:
        """A block in which torch gives its work to a stream."""
        return torch.cuda.stream(stream)

    def keep(self, tensor: Tensor, stream: Any) -> None:
        """Keeps a tensor's memory until the stream has done what it has been given by now."""
        tensor.record_stream(stream)

    def futures(self) -> list[int | str | torch.device]:
        """What a future of this GPU's tensors has as its devices."""
        return [self.device]


class DeviceComposition(Composition):
    """The copies, sends and receives of one operation; torch makes the copies, in its stream.

    Args:
        device: where the tensors are.
        exchanges: whether the operation consists of sends and receives.
    """

    __slots__ = ("after", "before")

    def __init__(self, device: torch.device, *, exchanges: bool = False) -> None:
        super().__init__(_nothing, exchanges=exchanges, device=device)
        self.before: list[tuple[Tensor, Tensor]] = []
        self.after: list[tuple[Tensor, Tensor]] = []

    def copy_before(self, target: Tensor, source: Tensor) -> None:
        """Copies between tensors of one shape before the operation."""
        self.before.append((target.detach(), source.detach()))

    def copy_after(self, target: Tensor, source: Tensor) -> None:
        """Copies between tensors of one shape after the operation."""
        self.after.append((target.detach(), source.detach()))

    def transfers(self) -> list[tuple[int, ...]] | None:
        """The sends and receives: operation, address, count, type, peer; None: it has none."""
        if not self._exchanges:
            return None
        words = self._transfers
        starts = range(0, len(words), _TRANSFER_WORDS)
        return [tuple(words[at : at + _TRANSFER_WORDS]) for at in starts]


class DeviceCommunicator(Communicator):
    """A communicator of ranks on GPUs.

    A call whose caller waits at once gives its work to the caller's current stream. Other
    collectives have a stream of their own, which first waits for the caller's; so has each peer for
    sends, and for receives, which are in no order with collectives. ``wait()`` of a handle lets the
    current stream wait, not the host.

    Args:
        native: the binding.
        handle: the communicator, made with blocking=0 and ready.
        timeout: the time limit of each operation.
        streams: the streams of its GPU.
    """

    def __init__(self, native: Binding, handle: int, timeout: timedelta, streams: Streams) -> None:
        super().__init__(native, handle, timeout)
        self._streams = streams
        self._own = streams.new()
        # By peer, and whether for sends. Threads that send to or receive from one peer at a time
        # are their caller's concern.
        self._by_peer: dict[tuple[int, bool], Any] = {}
        self._functions = _functions(native)

    @property
    def device(self) -> torch.device:
        """Where its tensors are."""
        return self._streams.device

    def composition(self, *, exchanges: bool = False) -> DeviceComposition:
        """A new one for the next operation."""
        return DeviceComposition(self.device, exchanges=exchanges)

    def transfer(self) -> DeviceComposition:
        """As ``composition``, for a send or receive."""
        return self.composition()

    def run(
        self,
        call: Call,
        waits: bool,
        result: list[Tensor],
        composition: Composition | None = None,
        source_rank: int = -1,
    ) -> Any:
        """As of ``Communicator``; the result is there for what follows in the current stream."""
        if waits and composition is None:
            self._call(call, self._streams.number())
            return DONE
        return self._in_stream([(call, composition)], waits, result, source_rank)

    def run_all(self, parts: list[Part], waits: bool, result: list[Tensor]) -> Any:
        """As of ``Communicator``, likewise."""
        return self._in_stream(parts, waits, result, -1)

    def over(self, waits: bool, result: list[Tensor]) -> Any:
        """The handle of what the current stream has been given."""
        return self._in_stream([], waits, result, -1)

    def drain(self) -> None:
        """The current stream waits for the collectives that were called before."""
        self._streams.current().wait_stream(self._own)

    def synchronize(self) -> None:
        """The host waits for the collectives that were called before, and the current stream.

        Raises:
            DistBackendError: the communicator has failed.
        """
        self._own.synchronize()
        self._streams.current().synchronize()
        self.require_sound()

    def require_sound(self) -> None:
        """Raises DistBackendError if the communicator has failed or ended."""
        if not self.handle:
            raise DistBackendError(f"{self.writes.ended}, and takes no more operations")
        code, state = self.native.comm_get_async_error(self.handle)
        self.check(code or state)

    def _in_stream(
        self,
        parts: Sequence[tuple[Call, Composition | None]],
        waits: bool,
        result: list[Tensor],
        source_rank: int,
    ) -> DoneWork | DeviceWork:
        current = self._streams.current()
        if waits:
            for call, composition in parts:
                self._give(call, composition, current)
            return DONE
        stream = self._stream_of(parts)
        stream.wait_stream(current)
        with self._streams.entered(stream):
            for call, composition in parts:
                self._give(call, composition, stream)
                for tensor in composition.kept if composition is not None else ():
                    self._streams.keep(tensor, stream)
            for tensor in result:
                self._streams.keep(tensor, stream)
        work = DeviceWork(self, self._streams, stream, result, source_rank)
        if self._batches:
            self._add_to_batch(work)
        return work

    def _stream_of(self, parts: Sequence[tuple[Call, Composition | None]]) -> Any:
        if not parts or parts[0][0][0] not in (SEND, RECV):
            return self._own
        call = parts[0][0]
        which = call[6], call[0] == SEND
        stream = self._by_peer.get(which)
        if stream is None:
            stream = self._by_peer.setdefault(which, self._streams.new())
        return stream

    def _give(self, call: Call, composition: Composition | None, stream: Any) -> None:
        """Gives a stream, which is the current one, an operation and its copies."""
        number = stream.cuda_stream
        if not isinstance(composition, DeviceComposition):
            self._call(call, number)
            return
        if composition.before:
            self._copy(composition.before)
        transfers = composition.transfers()
        if transfers is None:
            self._call(call, number)
        else:
            self._exchange(transfers, number)
        if composition.after or composition.lazy:
            self._copy([*composition.after, *composition.lazy])

    def _copy(self, copies: list[tuple[Tensor, Tensor]]) -> None:
        with torch.no_grad():
            self.writes.copy(copies)

    def _call(self, call: Call, stream: int) -> None:
        code = self._functions[call[0]](call, self.handle, stream)
        if code:
            self.check(code)

    def _exchange(self, transfers: list[tuple[int, ...]], stream: int) -> None:
        native = self.native
        self.check(native.group_start())
        try:
            for operation, address, count, kind, peer in transfers:
                function = native.send if operation == SEND else native.recv
                self.check(function(address, count, kind, peer, self.handle, stream))
        except BaseException:
            native.abandon_group()
            native.group_end()
            raise
        self.check(native.group_end())

    def _handle_of(self, works: list[Any]) -> Any:
        return DeviceWork.of_all(self, self._streams, works)


def _functions(native: Binding) -> dict[int, Callable[[Call, int, int], int]]:
    """For each operation, how it is called in a stream."""

    def reducing(function: Callable[..., int]) -> Callable[[Call, int, int], int]:
        return lambda c, comm, stream: function(c[1], c[2], c[3], c[4], c[5], comm, stream)

    def moving(function: Callable[..., int]) -> Callable[[Call, int, int], int]:
        return lambda c, comm, stream: function(c[1], c[2], c[3], c[4], comm, stream)

    def rooted(function: Callable[..., int]) -> Callable[[Call, int, int], int]:
        return lambda c, comm, stream: function(c[1], c[2], c[3], c[4], c[6], comm, stream)

    return {
        ALL_REDUCE: reducing(native.all_reduce),
        REDUCE_SCATTER: reducing(native.reduce_scatter),
        ALL_GATHER: moving(native.all_gather),
        ALL_TO_ALL: moving(native.allto_all),
        BROADCAST: rooted(native.broadcast),
        GATHER: rooted(native.gather),
        SCATTER: rooted(native.scatter),
        REDUCE: lambda c, comm, stream: native.reduce(
            c[1], c[2], c[3], c[4], c[5], c[6], comm, stream
        ),
        SEND: lambda c, comm, stream: native.send(c[1], c[3], c[4], c[6], comm, stream),
        RECV: lambda c, comm, stream: native.recv(c[2], c[3], c[4], c[6], comm, stream),
    }


def _nothing() -> None:
    """Waits for nothing: a stream keeps the order."""
