"""The handles of operations on GPUs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import torch
from torch._C._distributed_c10d import Work
from torch.distributed import DistBackendError
from torch.futures import Future

from jccl.torch.work import untraced

if TYPE_CHECKING:
    from jccl.torch.device import DeviceCommunicator, Streams

_NO_LIMIT: Final = timedelta(0)
_NAP_S: Final = 0.0005


class DeviceWork(Work):
    """The handle of operations that a stream has been given.

    Attributes:
        end: comes when the stream has done them.

    Args:
        comm: the communicator.
        streams: the streams of its GPU.
        stream: the current one, which has been given the operations.
        result: the tensors that they fill.
        source_rank: the sender, for a receive.
    """

    def __init__(
        self,
        comm: DeviceCommunicator,
        streams: Streams,
        stream: Any,
        result: list[torch.Tensor],
        source_rank: int = -1,
    ) -> None:
        super().__init__()
        self._comm = comm
        self._streams = streams
        self.end = stream.record_event()
        self._result = result
        self._rank = source_rank
        # Now: later the stream has more to do.
        self._future: Future[list[torch.Tensor]] = Future(devices=streams.futures())
        self._future.set_result(result)

    @untraced
    def wait(self, timeout: timedelta = _NO_LIMIT) -> bool:
        """Lets the current stream wait for the operations.

        Args:
            timeout: zero, or how long the host waits as well; a negative one has passed already.

        Raises:
            DistBackendError: the communicator has failed, or the limit passed.
        """
        self._comm.require_sound()
        self._streams.current().wait_event(self.end)
        limit = timeout.total_seconds()
        deadline = time.monotonic() + limit
        while limit != 0 and not self._has_ended():
            if time.monotonic() > deadline:
                raise DistBackendError(
                    f"the operation was not over {max(limit, 0):g} s after wait() began; it goes on"
                )
            time.sleep(_NAP_S)
            self._comm.require_sound()
        return True

    def _has_ended(self) -> bool:
        ended: bool = self.end.query()
        return ended

    @untraced
    def is_completed(self) -> bool:
        """Whether the GPU has done the operations, or will not."""
        return self.exception() is not None or self._has_ended()

    @untraced
    def is_success(self) -> bool:
        """Whether the GPU has done the operations."""
        return self.exception() is None and self._has_ended()

    @untraced
    def exception(self) -> DistBackendError | None:
        """The communicator's error, or None."""
        try:
            self._comm.require_sound()
        except DistBackendError as failed:
            return failed
        return None

    @untraced
    def synchronize(self) -> None:
        """As wait()."""
        self.wait()

    @untraced
    def result(self) -> list[torch.Tensor]:
        """The tensors that the operations fill, for what follows in the current stream."""
        self.wait()
        return self._result

    @untraced
    def get_future(self) -> Future[list[torch.Tensor]]:
        """A future of these tensors.

        It is complete at once, as that of torch's backend "nccl": callbacks and waits run in
        streams that wait for the operations.
        """
        return self._future

    @untraced
    def _source_rank(self) -> int:
        return self._rank


class DeviceWorks(Work):
    """One handle for those of several operations.

    Args:
        streams: the streams of their GPU.
        works: the handles.
    """

    def __init__(self, streams: Streams, works: Sequence[DeviceWork]) -> None:
        super().__init__()
        self._streams = streams
        self._works = list(works)

    @untraced
    def wait(self, timeout: timedelta = _NO_LIMIT) -> bool:
        """As of ``DeviceWork``, for one after the other."""
        for work in self._works:
            work.wait(timeout)
        return True

    @untraced
    def is_completed(self) -> bool:
        """Whether the GPU has done all operations, or will not do one."""
        return self.exception() is not None or all(work.is_completed() for work in self._works)

    @untraced
    def is_success(self) -> bool:
        """Whether the GPU has done all operations."""
        return all(work.is_success() for work in self._works)

    @untraced
    def exception(self) -> DistBackendError | None:
        """The error of the first that has one, or None."""
        errors = (work.exception() for work in self._works)
        return next((error for error in errors if error is not None), None)

    @untraced
    def synchronize(self) -> None:
        """As wait()."""
        self.wait()

    @untraced
    def result(self) -> list[torch.Tensor]:
        """The tensors that the operations fill, for what follows in the current stream."""
        return [tensor for work in self._works for tensor in work.result()]

    @untraced
    def get_future(self) -> Future[list[torch.Tensor]]:
        """A future of these tensors, as of ``DeviceWork``."""
        stream = self._streams.new()
        future: Future[list[torch.Tensor]] = Future(devices=self._streams.futures())
        with self._streams.entered(stream):
            future.set_result(self.result())
        return future
