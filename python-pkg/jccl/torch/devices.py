"""What a group of backend "jccl" has on GPUs."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING

import torch
from torch.distributed import DistBackendError

from jccl.torch import creation
from jccl.torch.communicator import DONE
from jccl.torch.device_work import DeviceWorks

if TYPE_CHECKING:
    from jccl.torch.device import DeviceCommunicator
    from jccl.torch.group import ProcessGroupJccl
    from jccl.torch.work import DoneWork


class Devices:
    """The communicators for a group's tensors on GPUs, which the first operation on them makes.

    Args:
        group: the group, which owns this object.
        timeout: limit of the group's operations.
    """

    def __init__(self, group: ProcessGroupJccl, timeout: timedelta) -> None:
        self._group = group
        self._timeout = timeout
        # Held while the communicators are made, which waits for the other ranks.
        self._making = threading.Lock()
        self._both: tuple[DeviceCommunicator, DeviceCommunicator] | None = None
        self._ended: str | None = None
        # The threads whose batches are open.
        self._batching: set[int] = set()

    def communicator(self, device: torch.device) -> DeviceCommunicator:
        """The communicator for collectives; the first time all ranks must ask for one of the two.

        Raises:
            ValueError: the device is not one of CUDA, or not the group's on this rank.
            DistBackendError: the group has ended, or the communicators could not be made.
        """
        return self._made(device)[0]

    def for_transfer(self, device: torch.device) -> DeviceCommunicator:
        """The communicator for sends and receives, likewise."""
        return self._made(device)[1]

    def _made(self, device: torch.device) -> tuple[DeviceCommunicator, DeviceCommunicator]:
        both = self._both
        if both is None or both[0].device != device:
            if device.type != "cuda":
                raise ValueError(
                    f"jccl moves CPU and CUDA tensors; this one is on {device}. Copy it to the "
                    "CPU, or use another backend for that device"
                )
            index = torch.cuda.current_device() if device.index is None else device.index
            device = torch.device("cuda", index)
            both = both or self._make(device)
        if both[0].device != device:
            raise ValueError(
                f"this rank's GPU of group {self._group._identity.name} is {both[0].device}, but a "
                f"tensor is on {device}; a rank has one GPU in a group"
            )
        return both

    def _make(self, device: torch.device) -> tuple[DeviceCommunicator, DeviceCommunicator]:
        with self._making:
            self._require_open()
            if self._both is None:
                both = creation.connect(self._group, device, self._timeout, self._require_open)
                self._both = both
                if self._ended is not None:
                    self.abort()
                if threading.get_ident() in self._batching:
                    for comm in both:
                        comm.begin_batch()
            return self._both

    def _require_open(self) -> None:
        if self._ended is not None:
            raise DistBackendError(f"{self._ended}, and takes no more operations")

    def begin_batch(self) -> None:
        """Makes the calling thread's operations one batch, until ``end_batch``."""
        self._batching.add(threading.get_ident())
        for comm in self._both or ():
            comm.begin_batch()

    def end_batch(self) -> DeviceWorks | DoneWork:
        """The handle of all operations of the calling thread's batch."""
        self._batching.discard(threading.get_ident())
        both = self._both
        if both is None:
            # There was no operation.
            return DONE
        return DeviceWorks(both[0].streams, [*both[0].take_batch(), *both[1].take_batch()])

    def set_timeout(self, timeout: timedelta) -> None:
        """Sets the time limit of operations that start from now on."""
        self._timeout = timeout
        for comm in self._both or ():
            comm.set_timeout(timeout)

    def synchronize(self) -> None:
        """The host waits for the group's collectives on the GPU, if there are any."""
        if self._both is not None:
            self._both[0].synchronize()

    def shutdown(self) -> None:
        """Waits a bounded time for the operations under way, then ends the communicators."""
        self._ended = "the group was shut down"
        for comm in self._both or ():
            comm.shutdown()

    def abort(self) -> None:
        """Ends the communicators at once."""
        if self._ended is None:
            self._ended = "the group was aborted"
        for comm in self._both or ():
            comm.abort(self._ended)
