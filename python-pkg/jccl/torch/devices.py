"""What a group of backend "jccl" has on GPUs."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING

import torch
from torch.distributed import DistBackendError

from jccl.torch import creation

if TYPE_CHECKING:
    from jccl.torch.device import DeviceCommunicator
    from jccl.torch.group import ProcessGroupJccl


class Devices:
    """The communicator for a group's tensors on GPUs, which the first operation on them makes.

    Args:
        group: the group, which owns this object.
        timeout: limit of the group's operations.
    """

    def __init__(self, group: ProcessGroupJccl, timeout: timedelta) -> None:
        self._group = group
        self._timeout = timeout
        # Held while the communicator is made, which waits for the other ranks.
        self._making = threading.Lock()
        self._comm: DeviceCommunicator | None = None
        self._ended: str | None = None

    def communicator(self, device: torch.device) -> DeviceCommunicator:
        """The communicator of a GPU; the first time all ranks of the group must ask for one.

        Raises:
            ValueError: the device is not one of CUDA, or not the group's on this rank.
            DistBackendError: the group has ended, or the communicator could not be made.
        """
        comm = self._comm
        if comm is None:
            if device.type != "cuda":
                raise ValueError(
                    f"jccl moves CPU and CUDA tensors; this one is on {device}. Copy it to the "
                    "CPU, or use another backend for that device"
                )
            comm = self._made(device)
        if comm.device != device:
            raise ValueError(
                f"this rank's GPU of group {self._group._identity.name} is {comm.device}, but a "
                f"tensor is on {device}; a rank has one GPU in a group"
            )
        return comm

    def for_transfer(self, device: torch.device) -> DeviceCommunicator:
        """As ``communicator``, for a send or receive, in which not all ranks take part.

        Raises:
            ValueError: also if the communicator does not exist and the group has other ranks.
        """
        if self._comm is None and device.type == "cuda" and self._group._size > 2:
            raise ValueError(
                "the first operation of a group on its GPUs must be a collective, which all ranks "
                "call; or give init_process_group a device_id"
            )
        return self.communicator(device)

    def existing(self) -> DeviceCommunicator | None:
        """The communicator, if it has been made."""
        return self._comm

    def _made(self, device: torch.device) -> DeviceCommunicator:
        with self._making:
            self._require_open()
            if self._comm is None:
                index = torch.cuda.current_device() if device.index is None else device.index
                comm = creation.connect(
                    self._group,
                    torch.device("cuda", index),
                    self._timeout,
                    self._require_open,
                )
                self._comm = comm
                if self._ended is not None:
                    comm.abort(self._ended)
            return self._comm

    def _require_open(self) -> None:
        if self._ended is not None:
            raise DistBackendError(f"{self._ended}, and takes no more operations")

    def set_timeout(self, timeout: timedelta) -> None:
        """Sets the time limit of operations that start from now on."""
        self._timeout = timeout
        if self._comm is not None:
            self._comm.set_timeout(timeout)

    def synchronize(self) -> None:
        """The host waits for the group's collectives on the GPU, if there are any."""
        if self._comm is not None:
            self._comm.synchronize()

    def shutdown(self) -> None:
        """Waits a bounded time for the operations under way, then ends the communicator."""
        self._ended = "the group was shut down"
        if self._comm is not None:
            self._comm.shutdown()

    def abort(self) -> None:
        """Ends the communicator at once."""
        self._ended = "the group was aborted"
        if self._comm is not None:
            self._comm.abort()
