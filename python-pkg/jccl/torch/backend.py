"""The Backend of a group, which torch sometimes asks instead of the group."""

from __future__ import annotations

import weakref
from datetime import timedelta
from typing import TYPE_CHECKING

import torch
from torch._C._distributed_c10d import Backend

if TYPE_CHECKING:
    from jccl.torch.group import ProcessGroupJccl


class GroupBackend(Backend):
    """Answers torch's questions about what a group can do.

    It defines every property that torch may ask for: torch's C++ side would look up a missing one
    in itself, without end.

    Args:
        group: the group, which owns this object.
        rank: this process's rank in it.
        size: number of ranks.
        timeout: limit of the group's operations.
    """

    def __init__(self, group: ProcessGroupJccl, rank: int, size: int, timeout: timedelta) -> None:
        super().__init__(rank, size)
        self._group = weakref.ref(group)
        self.timeout = timeout

    def getBackendName(self) -> str:  # noqa: N802 (torch's name)
        """The name that init_process_group knows."""
        return "jccl"

    @property
    def options(self) -> Backend.Options:
        """The backend's name and the time limit of operations."""
        return Backend.Options("jccl", timeout=self.timeout)

    @property
    def supports_splitting(self) -> bool:
        """True: dist.split_group becomes ncclCommSplit."""
        return True

    @property
    def supports_coalescing(self) -> bool:
        """False: sends and receives never block each other, so they need no group."""
        return False

    @property
    def supports_shrinking(self) -> bool:
        """False."""
        return False

    @property
    def supports_reconfigure(self) -> bool:
        """False."""
        return False

    @property
    def supports_window(self) -> bool:
        """False."""
        return False

    @property
    def _supports_time_estimate(self) -> bool:
        return False

    def supports_tensor_alloc(self, device: torch.device) -> bool:
        """False: any host memory will do."""
        return False

    def eager_connect_single_device(self, device: torch.device | None = None) -> None:
        """Connects a group on a GPU; all ranks must call it. On the CPU it is connected."""
        if device is not None and device.type != "cpu":
            self._of().connect(device)

    def set_timeout(self, timeout: timedelta) -> None:
        """Sets the limit of the group's operations."""
        self._of().set_timeout(timeout)

    def shutdown(self) -> None:
        """Waits for the operations in flight, then ends the group's communicator."""
        self._of().shutdown()

    def abort(self) -> None:
        """Ends the group's communicator at once."""
        self._of().abort()

    def _of(self) -> ProcessGroupJccl:
        group = self._group()
        if group is None:
            raise RuntimeError("the group of this backend is gone")
        return group
