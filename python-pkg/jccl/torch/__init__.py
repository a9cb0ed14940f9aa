"""The torch.distributed backend "jccl" for CPU and CUDA tensors.

``torch.distributed.init_process_group("jccl")`` finds it through the entry point
``torch.distributed.backends``. Importing this module starts no JVM and imports torch only when
``register`` is called.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

__all__ = ["register", "stats"]

_NAME = "jccl"
_registers = threading.Lock()


def register() -> None:
    """Makes the name "jccl" known to torch.distributed. May be called any number of times.

    Never raises: init_process_group says what is missing (a JDK, the libraries).
    """
    from torch.distributed import Backend

    with _registers:
        if _NAME.upper() not in Backend._plugins:
            Backend.register_backend(_NAME, _create, extended_api=True, devices=["cpu", "cuda"])


def _create(options: Any, backend_options: Any) -> ProcessGroup:
    from jccl.torch.creation import create

    return create(options, backend_options)


def stats(group: ProcessGroup | None = None) -> dict[str, int]:
    """Counters of this rank's operations on a group.

    Args:
        group: a group of backend "jccl"; None means the default group.

    Returns:
        For each operation the number of calls (``all_reduce`` and so on) and the bytes of their
        whole buffers (``all_reduce_bytes`` and so on); for each transport the payload bytes sent
        (``self_bytes``, ``shm_bytes``, ``net_bytes``).

    Raises:
        TypeError: if the group has another backend.
        DistBackendError: the group has ended.
    """
    from jccl.torch.creation import statistics

    return statistics(group)
