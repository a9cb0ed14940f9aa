"""The communicator of a group for the tensors of a GPU: the host gives streams work and goes on."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.autograd import profiler
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
from jccl.torch.communicator import DONE, Communicator, Part, event
from jccl.torch.composition import Call, Composition
from jccl.torch.device_work import DeviceWork, DeviceWorks
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
        if tensor.layout is torch.sparse_coo:
            tensor._indices().record_stream(stream)
            tensor._values().record_stream(stream)
        else:
            tensor.record_stream(stream)

    def capturing(self) -> bool:
        """Whether what the calling thread's stream is given goes into a graph."""
        return torch.cuda.is_current_stream_capturing()

    def futures(self) -> list[int | str | torch.device]:
        """What a future of this GPU's tensors has as its devices."""
        return [self.device]


class DeviceComposition(Composition):
    """The copies, sends and receives of one operation; torch makes the copies, in its stream.

    Args:
        device: where the tensors are.
        settle: lets the current stream wait for the collectives called before.
        exchanges: whether the operation consists of sends and receives.
    """

    __slots__ = ("after", "before")

    def __init__(
        self, device: torch.device, settle: Callable[[], None], *, exchanges: bool = False
    ) -> None:
        super().__init__(settle, exchanges=exchanges, device=device)
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
        self.streams = streams
        self._own = streams.new()
        # By peer, and whether for sends. Threads that send to or receive from one peer at a time
        # are their caller's concern.
        self._by_peer: dict[tuple[int, bool], Any] = {}
        # The end of the latest operation in the stream of its own, if there was any; whether it is
        # part of a graph; and the streams that wait for it.
        self._latest: Any = None
        self._latest_captured = False
        self._joined: set[int] = set()
        self._functions = _functions(native)

    @property
    def device(self) -> torch.device:
        """Where its tensors are."""
        return self.streams.device

    def composition(self, *, exchanges: bool = False) -> DeviceComposition:
        """A new one for the next operation."""
        return DeviceComposition(self.device, self.drain, exchanges=exchanges)

    def transfer(self) -> DeviceComposition:
        """As ``composition``, for a send or receive."""
        return DeviceComposition(self.device, _nothing)

    def run(
        self,
        call: Call,
        waits: bool,
        result: list[Tensor],
        composition: Composition | None = None,
        source_rank: int = -1,
        *,
        recorded: bool = False,
    ) -> Any:
        """As of ``Communicator``; the result is there for what follows in the current stream."""
        if profiler._is_profiler_enabled and not recorded:
            return self.record(event(call), call, waits, result, composition, source_rank)
        if waits and composition is None:
            number = self.streams.number()
            if self._latest is not None and number not in self._joined:
                self.drain()
            self._call(call, number)
            return DONE
        return self._in_stream([(call, composition)], waits, result, source_rank)

    def run_all(self, parts: list[Part], waits: bool, result: list[Tensor]) -> Any:
        """As of ``Communicator``, likewise."""
        return self._in_stream(parts, waits, result, -1)

    def over(self, waits: bool, result: list[Tensor]) -> Any:
        """The handle of what the current stream has been given."""
        return self._in_stream([], waits, result, -1)

    def drain(self) -> None:
        """The current stream waits for the collectives that were called before.

        What is part of a graph cannot wait for what is not, nor the reverse.
        """
        latest, current = self._latest, self.streams.current()
        if latest is None or current.cuda_stream in self._joined:
            return
        if self.streams.capturing() == self._latest_captured:
            current.wait_event(latest)
            self._joined.add(current.cuda_stream)

    def synchronize(self) -> None:
        """The host waits for the collectives that were called before, and the current stream.

        Raises:
            DistBackendError: the communicator has failed.
        """
        self._own.synchronize()
        self.streams.current().synchronize()
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
        current = self.streams.current()
        if waits:
            self.drain()
            for call, composition in parts:
                self._give(call, composition, current)
            return DONE
        stream = self._stream_of(parts)
        stream.wait_stream(current)
        with self.streams.entered(stream):
            for call, composition in parts:
                self._give(call, composition, stream)
                for tensor in composition.kept if composition is not None else ():
                    self.streams.keep(tensor, stream)
            for tensor in result:
                self.streams.keep(tensor, stream)
            work = DeviceWork(self, self.streams, stream, result, source_rank)
            if stream is self._own:
                self._latest, self._latest_captured = work.end, self.streams.capturing()
                self._joined = set()
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
            stream = self._by_peer.setdefault(which, self.streams.new())
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
        # Without the lock of writes, for which an abort would wait: a stream that is full keeps
        # the host waiting.
        if self.writes.ended is not None:
            raise DistBackendError(f"{self.writes.ended}, and takes no more operations")
        for target, source in copies:
            with torch.inference_mode() if target.is_inference() else torch.no_grad():
                target.copy_(source)

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

    def take_batch(self) -> list[DeviceWork]:
        """The handles of the calling thread's batch, which ends."""
        return self._batches.pop(threading.get_ident(), [])

    def _handle_of(self, works: list[Any]) -> Any:
        return DeviceWorks(self.streams, works)

    def gave_up(self, sentence: str) -> None:
        """Warns that the results of what was called before are undefined."""
        warnings.warn(
            f"operations on {self.device} were given up, and their results are undefined:"
            f" {sentence}",
            RuntimeWarning,
            stacklevel=2,
        )


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
